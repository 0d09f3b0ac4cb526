"""What every method makes of a posterior: a function of x, and what stands behind it."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.gp.surrogate import Units
from meseta.space.domain import Domain


@runtime_checkable
class Info(Protocol):
    """What a method records about itself, for people and plots."""

    def raw(self, units: Units) -> "Info":
        """The same, with values in raw units."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """An acquisition function in the units of the model, ready to be maximised."""

    @property
    def starts(self) -> Float[Tensor, "s d"]:
        """Where the function is likely to be high."""
        ...

    @property
    def info(self) -> Info: ...

    def value(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]: ...


# From the posterior (pending points included), the designs, and randomness.
Prepare = Callable[[JointPosterior, Domain, torch.Generator], Prepared]
