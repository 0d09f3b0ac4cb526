"""Quasi-random experiments, and our recommendation after them."""

from _meseta import MesetaEntrant


class Entrant(MesetaEntrant):
    title = "Sobol points, Meseta's recommendation"
    settings = 'Optimizer(space, noise=..., method="sobol"), a scrambled Sobol sequence'
    boards = ("mean", "risk", "constraints")
    method = "sobol"
