"""The answer: the robust optimum, the nominal one, and what choosing between them means."""

from dataclasses import dataclass

from meseta.space import Design
from meseta.views.estimate import Estimate


@dataclass(frozen=True)
class Choice:
    """A design and what is expected of it."""

    params: Design
    perturbed: Estimate  # g = E f(x + xi): its worth in use
    unperturbed: Estimate  # f: its worth if nothing perturbs it


@dataclass(frozen=True)
class Answer:
    """Positive gain and price, whether large or small values are wanted."""

    maximize: bool
    robust: Choice
    nominal: Choice
    gain: Estimate  # in use: how much better the robust design is than the nominal one
    price: Estimate  # on paper: how much better the nominal one is where nothing is perturbed
