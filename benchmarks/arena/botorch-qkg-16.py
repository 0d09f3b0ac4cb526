"""BoTorch: one-shot qKG of the risk measure over 16 perturbed copies of every point."""

from _botorch import KnowledgeGradientEntrant


class Entrant(KnowledgeGradientEntrant):
    title = "BoTorch robust qKG, 16 copies"
    settings = (
        "As in the tutorials on risk-averse optimization: SingleTaskGP, InputPerturbation, "
        "16 quasi-random copies, one-shot qKG of Expectation, VaR or CVaR with 16 fantasies, "
        "optimize_acqf with 10 restarts and 256 raw samples; "
        "recommends the highest posterior mean of the measure"
    )
    boards = ("mean", "risk")
    copies = 16
