"""k_f, k_gf and k_g of one kernel under one noise law."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.kernels.joined import AlongLine, OnNodes
from meseta.kernels.spectrum import Spectrum
from meseta.kernels.stationary import Factors, StationaryKernel, product
from meseta.kernels.zone import Grid
from meseta.noise import NoiseLaw, Substituted
from meseta.noise.joint import own_and_shared
from meseta.noise.law import symmetric_root, unscented

# Errors of k_gf and k_g over the prior variance: above the first users are warned, above the
# second the noise is refused.
NOTICEABLE, REFUSED = 1e-4, 0.05

Function = Callable[[Tensor], Tensor]
Which = Literal["gf", "g"]


class Part(NamedTuple):
    """Dimensions whose smoothing is computed from two points, rather than from their difference."""

    dims: list[int]
    smoothing: Spectrum | Grid | AlongLine | OnNodes
    shifts: bool  # xi is added to x, so that it has a characteristic function


@dataclass(frozen=True, eq=False)
class SmoothedKernel:
    """Covariances of f and g: index order is argument order, k_gf(A, B) has g at A and f at B.

    `factors` cover the dimensions whose smoothing is a function of the difference, `parts` the
    others; `whole` are all dimensions without noise.
    """

    kernel: StationaryKernel
    law: NoiseLaw
    whole: Factors
    factors: Factors
    parts: tuple[Part, ...] = ()
    bias: Float[Tensor, " d"] | None = None  # E xi, which the factors leave out
    room: Float[Tensor, "2 d"] | None = None  # the designs that g holds for; None: all

    def k_f(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        delta = _differences(A, B)
        return self.kernel.variance * product(self.whole, delta, lambda factor, d: factor.f(d))

    def k_gf(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        value = self.of_differences(self._biased(_differences(A, B)), "gf")
        for dims, part, _ in self.parts:
            value = value * part.gf(A[..., dims], B[..., dims])
        return value

    def k_g(
        self, A: Float[Tensor, "*#batch m d"], B: Float[Tensor, "*#batch n d"]
    ) -> Float[Tensor, "*batch m n"]:
        value = self.of_differences(_differences(A, B), "g")
        for dims, part, _ in self.parts:
            value = value * part.g(A[..., dims], B[..., dims])
        return value

    def gf_with(self, B: Float[Tensor, "n d"]) -> "Covariance":
        """k_gf(A, B) as a function of A alone; much cheaper."""
        others = [(dims, part.gf_with(B[:, dims])) for dims, part, _ in self.parts]
        shift = torch.zeros_like(B[0]) if self.bias is None else self.bias
        return Covariance(self, B - shift, "gf", others)

    def g_with(self, B: Float[Tensor, "n d"]) -> "Covariance":
        """k_g(A, B) as a function of A alone."""
        others = [(dims, part.g_with(B[:, dims])) for dims, part, _ in self.parts]
        return Covariance(self, B, "g", others)

    @property
    def prior_variance(self) -> Float[Tensor, ""]:
        """k_f(x, x), the same for every x."""
        return self.kernel.variance

    def at_same_point(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """k_gf(x, x) and k_g(x, x) for each x."""
        gf, g = (value.expand(len(x)) for value in self._at_zero)
        for dims, part, _ in self.parts:
            part_gf, part_g = part.at_same_point(x[:, dims])
            gf, g = gf * part_gf, g * part_g
        return gf, g

    @property
    def error(self) -> float:
        """A bound of the error of k_gf and k_g, or a close estimate, over the prior variance."""
        of_factors = [getattr(factor, "error", 0.0) for _, factor in self.factors]
        return sum(of_factors) + sum(part.smoothing.error for part in self.parts)

    @cached_property
    def shifted(self) -> list[int]:
        """Dimensions where xi is added to x."""
        placed = [i for dims, _, shifts in self.parts if not shifts for i in dims]
        return [i for i in range(len(self.kernel.lengthscale)) if i not in placed]

    def characteristic(self, omega: Float[Tensor, "features d"]) -> Complex[Tensor, " features"]:
        """E exp(i omega xi) over the shifted dimensions."""
        d = omega.shape[1]
        if len(self.shifted) == d:
            return self.law.characteristic(omega)
        marginals, parts = own_and_shared(self.law, d)
        value = torch.ones(len(omega), dtype=torch.cdouble)
        for i in self.shifted:
            value = value * marginals[i].characteristic(omega[:, [i]])
        for dims, part in parts:
            if not isinstance(part, Substituted):
                value = value * part.characteristic(omega[:, dims])
        return value

    def waves_with(self, omega: Float[Tensor, "features d"]) -> "Waves":
        """exp(i omega x) over the shifted dimensions, times E exp(i omega z(x)) over the others."""
        others = [
            (dims, part.waves_with(omega[:, dims]))
            for dims, part, shifts in self.parts
            if not shifts and isinstance(part, Spectrum | Grid)
        ]
        return Waves(self.shifted, omega[:, self.shifted], others)

    def sigma_points(
        self, x: Float[Tensor, "m d"], kappa: float
    ) -> tuple[Float[Tensor, "m points d"], Float[Tensor, " points"]]:
        """Places around each x, and weights, of the unscented transformation of z(x)."""
        if len(self.shifted) == x.shape[1]:
            points, weights = self.law.sigma_points(kappa)
            return x[:, None, :] + points, weights
        root, mean = _root(self.law, self.shifted), self.law.mean
        placed = [i for i in range(x.shape[1]) if i not in self.shifted]
        mean[placed] = 0
        points, weights = unscented(mean, root, kappa)
        places = [x[:, i, None] + points[:, i] for i in range(x.shape[1])]
        for dims, part, _ in self.parts:
            # choices of a category have nothing between them
            if dims[0] in placed and len(dims) == 1 and isinstance(part, Spectrum | Grid):
                centre, variance = part.moments(x[:, dims])
                # nothing may be left to chance; its root has a slope nevertheless
                deviation = variance.clamp_min(1e-20).sqrt()
                places[dims[0]] = centre[:, None] + deviation[:, None] * points[:, dims[0]]
        return torch.stack(places, dim=-1), weights

    @cached_property
    def _at_zero(self) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        zero = torch.zeros_like(self.kernel.lengthscale)
        return self.of_differences(self._biased(zero), "gf"), self.of_differences(zero, "g")

    def _biased(self, delta: Tensor) -> Tensor:
        return delta if self.bias is None else delta + self.bias

    def of_differences(self, delta: Tensor, which: Which) -> Tensor:
        """The part of k_gf or k_g that depends on differences alone, without the bias."""
        if not self.factors:
            return self.kernel.variance.expand(delta.shape[:-1])
        if which == "gf":
            value = product(self.factors, delta, lambda factor, part: factor.gf(part))
        else:
            value = product(self.factors, delta, lambda factor, part: factor.g(part))
        return self.kernel.variance * value


@dataclass(frozen=True, eq=False)
class Covariance:
    """k_gf(A, B) or k_g(A, B) for fixed points B, as a function of A."""

    kernel: SmoothedKernel
    B: Float[Tensor, "n d"]
    which: Which
    others: list[tuple[list[int], Function]]

    def __call__(self, A: Float[Tensor, "*batch m d"]) -> Float[Tensor, "*batch m n"]:
        value = self.kernel.of_differences(_differences(A, self.B), self.which)
        for dims, part in self.others:
            value = value * part(A[..., dims])
        return value


@dataclass(frozen=True, eq=False)
class Waves:
    """Cosines and sines of fixed frequencies as functions of x.

    They are averaged over the noise that is not added to x.
    """

    shifted: list[int]
    omega: Float[Tensor, "features s"]
    others: list[tuple[list[int], Function]]

    def __call__(
        self, x: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, "m features"], Float[Tensor, "m features"]]:
        factors = [part(x[:, dims]).tensor_split(2, -1) for dims, part in self.others]
        if self.shifted:
            phase = x[:, self.shifted] @ self.omega.T
            factors.append((phase.cos(), phase.sin()))
        cosine, sine = factors[0]
        for c, s in factors[1:]:
            cosine, sine = cosine * c - sine * s, cosine * s + sine * c
        return cosine, sine


def _root(law: NoiseLaw, shifted: list[int]) -> Float[Tensor, "d d"]:
    """The root of the covariance of the shifted dimensions; 1 on the diagonal of the others."""
    covariance = law.covariance_matrix
    root = torch.eye(len(covariance), dtype=torch.double)
    inner = covariance[shifted][:, shifted]
    if len(shifted):
        root[torch.tensor(shifted)[:, None], torch.tensor(shifted)] = symmetric_root(inner)
    return root


def _differences(A: Tensor, B: Tensor) -> Tensor:
    return A.unsqueeze(-2) - B.unsqueeze(-3)
