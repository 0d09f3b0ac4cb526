"""BoTorch: one-shot qKG of the risk measure over 64 perturbed copies of every point."""

from _botorch import KnowledgeGradientEntrant


class Entrant(KnowledgeGradientEntrant):
    title = "BoTorch robust qKG, 64 copies"
    settings = (
        "SingleTaskGP and InputPerturbation as in the tutorial on risk-averse optimization with "
        "input perturbations, 64 quasi-random copies; qKG in place of its qNEI, which no tutorial "
        "has: one-shot, of Expectation, VaR or CVaR, 16 fantasies, optimize_acqf with 10 restarts "
        "and 256 raw samples; recommends the highest posterior mean of the measure over 128 copies"
    )
    boards = ("mean", "risk")
    copies = 64
