"""Meseta with noisy-input entropy search."""

from _meseta import MesetaEntrant


class Entrant(MesetaEntrant):
    title = "Meseta, noisy-input entropy search"
    settings = 'Optimizer(space, noise=..., method="nes-ep"), otherwise its defaults'
    boards = ("mean",)
    method = "nes-ep"
