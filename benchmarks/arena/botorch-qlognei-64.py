"""BoTorch: qLogNEI of the risk measure over 64 perturbed copies of every point."""

from _botorch import RobustEntrant


class Entrant(RobustEntrant):
    title = "BoTorch robust qLogNEI, 64 copies"
    settings = (
        "As in the tutorials on risk-averse optimization: SingleTaskGP, InputPerturbation, "
        "64 quasi-random copies, qLogNEI of Expectation, VaR or CVaR, optimize_acqf with 10 "
        "restarts and 256 raw samples; "
        "where there are limits, values weighted by feasibility; "
        "recommends the highest posterior mean of the measure"
    )
    boards = ("mean", "risk", "constraints")
    copies = 64
