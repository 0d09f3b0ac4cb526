"""Normal input noise, independent or correlated."""

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Complex, Float
from scipy.special import ndtri
from torch import Tensor

from meseta.noise.arguments import Flag, WidthOfX, read_flag, read_mean, read_width_of_x
from meseta.noise.law import (
    Width,
    depends_on_x,
    no_atoms,
    read_width,
    single,
    symmetric_root,
    unscented,
    wave,
    widths_in_dimension,
)
from meseta.noise.words import amount, on_average

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, init=False)
class Normal:
    """xi ~ N(mean, diag(std^2)), or N(mean, covariance).

    `std` and `mean` are one number for every parameter or one per parameter; `covariance` a
    symmetric positive semi-definite matrix. All in the units of x.

    Two kinds of noise depend on x, and the law is then that of zeta:
    `relative`: xi = x zeta, so that Normal(0.05, relative=True) is an error of 5 %.
    `std` a function: xi = width(x) zeta with zeta ~ N(0, 1), for each parameter x by itself.
    """

    std: float | tuple[float, ...] | None
    bias: float | tuple[float, ...]
    covariance: Matrix | None
    relative: bool
    width: WidthOfX | None

    def __init__(
        self,
        std: Width | WidthOfX | None = None,
        mean: Width = 0.0,
        *,
        covariance: Tensor | np.ndarray | list[list[float]] | Matrix | None = None,
        relative: Flag = False,
    ) -> None:
        if (std is None) == (covariance is None):
            raise ValueError("give Normal either std or covariance=..., not both and not neither")
        relative = read_flag("Normal relative", relative)
        width = None if std is None else read_width_of_x("Normal", std, mean, relative)
        if covariance is not None:
            matrix = _read_covariance(covariance)
            bias = read_mean("Normal", mean, (0.0,) * len(matrix))[1]
            self._set(None, bias, matrix, relative, None)
        elif width is not None:
            self._set(1.0, 0.0, None, False, width)
        else:
            deviation = read_width("Normal std", cast(Width, std))
            deviation, bias = read_mean("Normal", mean, deviation)
            self._set(deviation, bias, None, relative, None)

    def _set(
        self,
        std: float | tuple[float, ...] | None,
        bias: float | tuple[float, ...],
        covariance: Matrix | None,
        relative: bool,
        width: WidthOfX | None,
    ) -> None:
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "relative", relative)
        object.__setattr__(self, "width", width)

    def _with(self, std: float | tuple[float, ...], bias: float | tuple[float, ...]) -> "Normal":
        """The same kind of law with other numbers."""
        law = object.__new__(Normal)
        law._set(std, bias, None, self.relative, self.width)
        return law

    def __repr__(self) -> str:
        if self.width is not None:
            return f"Normal({self.width!r})"
        spread = f"covariance={self.covariance}" if self.std is None else f"{self.std}"
        bias = f", mean={self.bias}" if bool(self.mean.any()) else ""
        return f"Normal({spread}{bias}{', relative=True' if self.relative else ''})"

    @property
    def independent(self) -> bool:
        return self.covariance is None

    @property
    def marginals(self) -> tuple["Normal", ...]:
        columns = zip(self.standard_deviation.tolist(), self.mean.tolist(), strict=True)
        return tuple(self._with(std, bias) for std, bias in columns)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.tensor(self.bias, dtype=torch.double).reshape(-1)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        if self.covariance is not None:
            return torch.tensor(self.covariance, dtype=torch.double)
        return torch.diag(self.standard_deviation**2)

    @property
    def standard_deviation(self) -> Float[Tensor, " d"]:
        """The standard deviation of each coordinate."""
        if self.std is None:
            return self.covariance_matrix.diagonal().sqrt()
        return torch.tensor(self.std, dtype=torch.double).reshape(-1)

    def in_dimension(self, dimension: int) -> "Normal":
        if self.std is not None:
            return self._with(
                widths_in_dimension("Normal std", self.std, dimension),
                widths_in_dimension("Normal mean", self.bias, dimension),
            )
        if self.covariance is not None and len(self.covariance) != dimension:
            size = len(self.covariance)
            raise ValueError(
                f"the covariance is {size} x {size} but x has {dimension} parameters; "
                f"give a {dimension} x {dimension} matrix"
            )
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Normal":
        """zeta has no unit: noise that depends on x stays as it is."""
        if depends_on_x(self):
            return self
        if self.std is not None:
            return Normal(self.standard_deviation * scale.abs(), self.mean * scale)
        matrix = scale[:, None] * self.covariance_matrix * scale
        return Normal(covariance=matrix, mean=self.mean * scale)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        root = self._root()
        normal = torch.randn(num, len(root), generator=generator, dtype=torch.double)
        return self.mean + normal @ root.T

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """exp(i omega' mean - omega' Sigma omega / 2)."""
        exponent = -0.5 * (omega @ self._root()).square().sum(-1)
        return exponent.exp() * wave(omega @ self.mean)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self._root(), kappa)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        mean, std = self._single()
        if not std:
            return torch.zeros_like(xi)
        return (-0.5 * ((xi - mean) / std) ** 2).exp() / (math.sqrt(2 * math.pi) * std)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        mean, std = self._single()
        return torch.special.ndtr((xi - mean) / std) if std else torch.zeros_like(xi)

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        """Noise without width has one atom, at the mean; all other has none."""
        _, std = self._single()
        return no_atoms() if std else (self.mean, torch.ones(1, dtype=torch.double))

    @property
    def breaks(self) -> tuple[float, ...]:
        self._single()
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        mean, std = self._single()
        reach = -std * float(ndtri(tail / 2))
        return mean - reach, mean + reach

    def split(self) -> tuple["Normal", Float[Tensor, "d k"]]:
        """xi as the sum of independent noise and of A t, t ~ N(0, I), and the columns of A.

        covariance = t diag(covariance) + A A', t the smallest eigenvalue of the correlation: the
        common part has fewer dimensions than xi (one for two parameters). The mean is left out.
        """
        Sigma = self.covariance_matrix
        sd = torch.where(Sigma.diagonal() > 0, Sigma.diagonal(), 1).sqrt()
        values, vectors = torch.linalg.eigh(Sigma / sd[:, None] / sd)
        t = values[0].clamp(0, 1)
        common = values - t > 1e-12
        A = sd[:, None] * vectors[:, common] * (values[common] - t).sqrt()
        return Normal(t.sqrt() * self.standard_deviation), A

    def in_words(self, unit: str) -> str:
        if self.width is not None:
            return "normal, of a width that depends on the value"
        if len(self.mean) > 1:
            widths = ", ".join(f"{std:.3g}" for std in self.standard_deviation.tolist())
            return f"normal and correlated, standard deviations {widths}"
        mean, std = self._single()
        width = amount(std, unit, self.relative)
        return f"normal, standard deviation {width}{on_average(mean)}"

    def _single(self) -> tuple[float, float]:
        return single(self, self.mean), single(self, self.standard_deviation)

    def _root(self) -> Float[Tensor, "d d"]:
        if self.std is not None:
            return torch.diag(self.standard_deviation)
        return symmetric_root(self.covariance_matrix)


def _read_covariance(covariance: Tensor | np.ndarray | list[list[float]] | Matrix) -> Matrix:
    matrix = torch.as_tensor(covariance, dtype=torch.double)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise ValueError(f"covariance must be a square matrix, got shape {tuple(matrix.shape)}")
    if not matrix.isfinite().all():
        raise ValueError(f"covariance must be finite, got {matrix.tolist()}")
    size = matrix.abs().max()
    if (matrix - matrix.T).abs().max() > 1e-10 * size:
        raise ValueError(
            f"covariance must be symmetric, got {matrix.tolist()}; "
            "average it with its transpose if that is what you mean"
        )
    variances = matrix.diagonal()
    # as correlations, so that parameters of very different size count alike
    scale = torch.where(variances > 0, variances, 1).sqrt()
    smallest = torch.linalg.eigvalsh(matrix / scale[:, None] / scale).min()
    # eigvalsh is accurate to about d * 2e-16 of the largest eigenvalue
    if (variances < 0).any() or smallest < -1e-12 * len(matrix):
        raise ValueError(
            "covariance must be positive semi-definite, but its smallest eigenvalue is "
            f"{smallest:.3g}; check the correlations (each between -1 and 1, and consistent)"
        )
    symmetric = (matrix + matrix.T) / 2
    return tuple(tuple(row) for row in symmetric.tolist())
