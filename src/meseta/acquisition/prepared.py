"""What every method makes of a posterior: a function of x, and what stands behind it."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.gp.robust import RobustPosterior
from meseta.gp.surrogate import Units
from meseta.noise import NoiseLaw
from meseta.space.domain import Domain, as_domain, checked_domain


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


class RobustAcquisition(AcquisitionFunction):
    """Any method as a BoTorch acquisition function, in raw units, one point at a time.

    Pending points count as observed, with their posterior mean as their value.
    """

    def __init__(
        self,
        model: Any,
        noise: NoiseLaw,
        bounds: Tensor | Domain,
        prepare: Prepare,
        X_pending: Tensor | None = None,
        seed: int = 0,
    ) -> None:
        """Prepare the method for a fitted single-output SingleTaskGP of f.

        Args:
            model: The fitted model of f.
            noise: The law of xi, in the raw units of x.
            bounds: 2 x d, the box in which g is maximised, in raw units; or a Domain, where parts
                of it are discrete.
            prepare: The method.
            X_pending: Points under evaluation (p x d).
            seed: The same seed gives the same acquisition function.
        """
        super().__init__(model=model)
        box = as_domain(bounds).bounds
        self.robust = RobustPosterior.from_model(model, noise, box)  # without pending points
        self.domain = checked_domain(bounds, self.robust.dimension)
        self.prepare, self.seed = prepare, seed
        self.set_X_pending(X_pending)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        """Condition on pending points (p x d), with their mean as their value."""
        robust = self.robust
        if X_pending is not None and X_pending.numel():
            pending = robust.checked(X_pending.detach())
            robust = robust.with_observations(pending.reshape(-1, robust.dimension))
        super().set_X_pending(X_pending)
        generator = torch.Generator().manual_seed(self.seed)
        domain = self.domain.mapped(robust.units.x_to_model)
        self.prepared = self.prepare(robust.core, domain, generator)

    @property
    def bounds(self) -> Float[Tensor, "2 d"]:
        """The box in which g is maximised, in raw units."""
        return self.domain.bounds

    @property
    def info(self) -> Any:
        """What the method recorded about itself; values in raw units."""
        return self.prepared.info.raw(self.robust.units)

    @property
    def starts(self) -> Float[Tensor, "s d"]:
        """Where the function is likely to be high."""
        return self.robust.units.x_to_raw(self.prepared.starts)

    def forward(self, X: Tensor) -> Tensor:
        """The values at X (b x 1 x d), as a tensor of shape b."""
        X = X if X.ndim > 2 else X.unsqueeze(0)
        if X.shape[-2] != 1:
            raise ValueError(
                f"expected X of shape (b, 1, d), got {tuple(X.shape)}: one point at a time; "
                "for a batch of points use optimize_acqf(..., q=q, sequential=True)"
            )
        x = self.robust.units.x_to_model(self.robust.checked(X.squeeze(-2)))
        return self.prepared.value(x.reshape(-1, x.shape[-1])).view(x.shape[:-1]).to(X)
