"""BoTorch: qLogNEI of the risk measure over 16 perturbed copies of every point."""

from _botorch import RobustEntrant


class Entrant(RobustEntrant):
    title = "BoTorch robust qLogNEI, 16 copies"
    settings = (
        "After the tutorial on risk-averse optimization with input perturbations: SingleTaskGP, "
        "InputPerturbation, 16 quasi-random copies, qLogNEI of Expectation, VaR or CVaR, "
        "optimize_acqf with 10 restarts and 256 raw samples; where there are limits, values "
        "weighted by feasibility; recommends the highest posterior mean of the measure over 128 "
        "copies, within limits the best of 512 designs that keep them as asked, over 2048 "
        "copies and with a margin of up to 1.645 standard deviations of the model"
    )
    boards = ("mean", "risk", "constraints")
    copies = 16
