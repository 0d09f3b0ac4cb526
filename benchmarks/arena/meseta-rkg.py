"""Meseta as it is: the robust knowledge gradient, its default method."""

from _meseta import MesetaEntrant


class Entrant(MesetaEntrant):
    title = "Meseta, robust knowledge gradient"
    settings = "Optimizer(space, noise=..., measure=..., constraints=...), its defaults: method rkg"
    boards = ("mean", "risk", "constraints")
    method = "rkg"
