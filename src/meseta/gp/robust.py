"""RobustPosterior: the posterior of f and of g(x) = E f(x + xi), in the user's units."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.boundary import shown
from meseta.gp.joint import JointMoments, JointPosterior, Scatter, condition
from meseta.gp.mixture import Mixture
from meseta.gp.observed import Coming, Observed
from meseta.gp.surrogate import Surrogate, Units
from meseta.kernels import smooth
from meseta.kernels.smoothed import NOTICEABLE, REFUSED
from meseta.noise import NoiseLaw, in_units, resolved
from meseta.space.domain import checked_bounds
from meseta.space.recording import recordable

# How often Var f(x + xi) is computed from the model that follows from it, at most, and the share of
# the largest by which it may still change.
ROUNDS, SETTLED = 10, 0.01
# Of the box: as far beyond it as single precision may round.
ROUNDING = 1e-6


class Gaussian(NamedTuple):
    """Mean and covariance of several values."""

    mean: Float[Tensor, " m"]
    covariance: Float[Tensor, "m m"]


@dataclass(frozen=True, eq=False)
class RobustPosterior:
    """What a fitted model of f says about f and about the robust objective g.

    `mixture` is the same in the units of the model, where all the computation happens, and `core`
    the heaviest of its parts, which methods use. `core.jitter` says what had to be added to the
    diagonal of the data's covariance, and `core.clamped` which variances were negative by more than
    rounding.
    """

    mixture: Mixture
    units: Units

    @property
    def core(self) -> JointPosterior:
        return self.mixture.heaviest

    @classmethod
    def from_model(
        cls, model: object, noise: NoiseLaw, bounds: Float[Tensor, "2 d"] | None = None
    ) -> "RobustPosterior":
        """From a surrogate or a fitted BoTorch SingleTaskGP; the noise in the raw units of x.

        `bounds` are the box of the designs, raw; without them it is the one that the model
        normalises its inputs with, or that of its data. Only some laws of the noise care.
        """
        surrogate = as_surrogate(model)
        if not isinstance(noise, NoiseLaw):
            raise TypeError(
                f"expected a noise law such as meseta.Normal(0.1), got {type(noise).__name__}"
            )
        units, d = surrogate.units, surrogate.X.shape[1]
        box = units.x_offset.new_tensor([[0.0], [1.0]]).expand(2, d)
        if bounds is not None:
            box = units.x_to_model(checked_bounds(bounds, d))
        law = resolved(noise.in_dimension(d), *units.x_to_raw(box))
        law = in_units(law, units.x_offset, units.x_width)
        return cls(Mixture.single(joint_posterior(surrogate, law, box)), units)

    @property
    def dimension(self) -> int:
        return self.core.X.shape[1]

    @property
    def lengthscale(self) -> Float[Tensor, " d"]:
        """The lengthscales of f, in the raw units of x."""
        return self.core.kernel.kernel.lengthscale * self.units.x_width

    @property
    def noise_variance(self) -> Float[Tensor, ""]:
        """The variance of a new observation of f."""
        return self.core.new_noise_variance * self.units.y_scale**2

    def joint(self, x: Float[Tensor, "m d"]) -> JointMoments:
        """Means, variances and covariance of f(x) and g(x), at each x."""
        with recordable():
            x = self.units.x_to_model(self.checked(x))
            return raw_moments(self.mixture.moments(x), self.units)

    def g(self, x: Float[Tensor, "m d"]) -> Gaussian:
        """Mean and covariance of g at all x."""
        with recordable():
            x = self.units.x_to_model(self.checked(x))
            return Gaussian(
                self.units.y_to_raw(self.mixture.mean_g(x)),
                self.mixture.covariance_g(x) * self.units.y_scale**2,
            )

    def with_observations(
        self, x: Float[Tensor, "p d"], y: Float[Tensor, " p"] | None = None
    ) -> "RobustPosterior":
        """Given further observations of f too; without `y`, given that they equal their mean."""
        with recordable():
            x = self.units.x_to_model(self.checked(x))
            y = None if y is None else self.units.y_to_model(y.double())
            return RobustPosterior(self.mixture.with_observations(x, y), self.units)

    def checked(self, x: Tensor) -> Float[Tensor, "*batch d"]:
        """x in double precision, refused where it does not fit the model."""
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise ValueError(
                f"the model has {self.dimension} parameters but x has shape {tuple(x.shape)}; "
                f"its last dimension must be {self.dimension}"
            )
        if x.is_complex() or x.dtype == torch.bool:
            raise ValueError(f"x must be real numbers, got {x.dtype}")
        if not x.isfinite().all():
            raise ValueError("x has NaN or infinite values")
        self._check_room(x)
        return x.clone().double() if x.is_inference() else x.double()

    def _check_room(self, x: Tensor) -> None:
        """Refuse places for which averages over the noise were not computed."""
        room = self.core.kernel.room
        if room is None or not x.numel():
            return
        low, high = self.units.x_to_raw(room)
        slack = ROUNDING * (high - low).nan_to_num(posinf=0.0)
        rows = x.detach().reshape(-1, self.dimension)
        least, most = rows.amin(0), rows.amax(0)
        for i in ((least < low - slack) | (most > high + slack)).nonzero().flatten().tolist():
            raise ValueError(
                f"x goes from {float(least[i]):g} to {float(most[i]):g} in column {i}, but the "
                f"averages over this noise were computed for {float(low[i]):g} to "
                f"{float(high[i]):g}; give bounds that hold all of x when the posterior is made"
            )


def as_surrogate(model: object) -> Surrogate:
    """A surrogate as it is, or what a fitted BoTorch model has learned."""
    if isinstance(model, Surrogate):
        return model
    from meseta.gp.botorch_models import read_model  # loads BoTorch: its users have one of these

    return read_model(model)


def joint_posterior(
    surrogate: Surrogate,
    law: NoiseLaw,
    box: Float[Tensor, "2 d"],
    gauge: Callable[[], float] | None = None,
    *,
    check: bool = True,
) -> JointPosterior:
    """The posterior of f and g given the data of a surrogate, all in its units.

    `gauge` is the variance of what is no scatter in use, see `Coming`. With `check` it warns where
    averages over the noise are not exact enough.
    """
    corners = torch.cat([surrogate.X, box])
    kernel = smooth(surrogate.kernel, law, torch.stack([corners.amin(0), corners.amax(0)]))
    if check:
        check_error(kernel.error, law)
    unseen = surrogate.unseen
    acting = unseen.noise if unseen is not None and surrogate.new_unseen else None
    coming = Coming(surrogate.new_noise_variance, surrogate.log_noise_variance, acting, gauge)

    observed = Observed(kernel, surrogate.X, unseen)

    def given(noise_variance: Float[Tensor, " n"]) -> JointPosterior:
        mean, X, y = surrogate.mean, surrogate.X, surrogate.y
        return condition(kernel, mean, X, y, noise_variance, coming, unseen, observed.own)

    if observed.places is None:
        return given(surrogate.noise_variance)
    return _with_scatter(given, surrogate, Scatter(observed, observed.places))


def _with_scatter(
    given: Callable[[Tensor], JointPosterior], surrogate: Surrogate, scatter: Scatter
) -> JointPosterior:
    """Values where the noise acted unseen scatter around g by Var f(x + xi), as the model has it.

    First as it has it before any value, then as it has it given the values, until that settles.
    """
    assert surrogate.unseen is not None
    rows, noise_variance = surrogate.unseen.rows, surrogate.noise_variance
    posterior = given(noise_variance + rows * surrogate.kernel.variance)
    before = torch.zeros(())
    with torch.no_grad():
        for _ in range(ROUNDS):
            after = scatter.by(posterior)
            posterior = given(noise_variance.index_put((rows,), noise_variance[rows] + after))
            if (after - before).abs().max() <= SETTLED * after.max():
                break
            before = after
    return posterior


def check_error(error: float, noise: NoiseLaw, noticeable: float = NOTICEABLE) -> None:
    """Averages over the noise that are not exact are reported, or refused."""
    if error <= noticeable:
        return
    problem = (
        f"averages over the noise {shown(noise)} have an error of about {error:.1g} of the prior "
        "standard deviation: several laws that are not Normal act on the same parameters, or the "
        "noise is too wide for the lengthscales of f"
    )
    if error > REFUSED:
        raise ValueError(
            f"{problem}; give these parameters one law (Normal(covariance=...), or "
            "Empirical(samples) of their sum), or check the widths"
        )
    warnings.warn(problem, RuntimeWarning, stacklevel=4)


def raw_moments(moments: JointMoments, units: Units) -> JointMoments:
    """Moments in the units of the model, converted to those of y."""
    square = units.y_scale**2
    return JointMoments(
        m_f=units.y_to_raw(moments.m_f),
        v_f=moments.v_f * square,
        m_g=units.y_to_raw(moments.m_g),
        v_g=moments.v_g * square,
        c_fg=moments.c_fg * square,
    )
