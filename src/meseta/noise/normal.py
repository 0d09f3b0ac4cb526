"""Normal input noise, independent or correlated."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Complex, Float
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

from meseta.noise.law import Width, read_width, unscented, widths_in_dimension

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, init=False)
class Normal:
    """xi ~ N(0, diag(std^2)), or N(0, covariance).

    `std` is one number for every parameter or one per parameter; `covariance` a symmetric
    positive semi-definite matrix. Both in the units of x.
    """

    std: float | tuple[float, ...] | None
    covariance: Matrix | None

    def __init__(
        self,
        std: Width | None = None,
        *,
        covariance: Tensor | np.ndarray | list[list[float]] | Matrix | None = None,
    ) -> None:
        if (std is None) == (covariance is None):
            raise ValueError("give Normal either std or covariance=..., not both and not neither")
        object.__setattr__(self, "std", None if std is None else read_width("Normal std", std))
        matrix = None if covariance is None else _read_covariance(covariance)
        object.__setattr__(self, "covariance", matrix)

    def __repr__(self) -> str:
        if self.std is not None:
            return f"Normal({self.std})"
        return f"Normal(covariance={self.covariance})"

    @property
    def independent(self) -> bool:
        return self.covariance is None

    @property
    def marginals(self) -> tuple["Normal", ...]:
        return tuple(Normal(std) for std in self.standard_deviation.tolist())

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.zeros(len(self._root()), dtype=torch.double)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        if self.covariance is not None:
            return torch.tensor(self.covariance, dtype=torch.double)
        return torch.diag(self.standard_deviation**2)

    @property
    def standard_deviation(self) -> Float[Tensor, " d"]:
        """Of each coordinate alone."""
        if self.std is None:
            return self.covariance_matrix.diagonal().sqrt()
        widths = (self.std,) if isinstance(self.std, float) else self.std
        return torch.tensor(widths, dtype=torch.double)

    def in_dimension(self, dimension: int) -> "Normal":
        if self.std is not None:
            return Normal(widths_in_dimension("Normal std", self.std, dimension))
        if self.covariance is not None and len(self.covariance) != dimension:
            size = len(self.covariance)
            raise ValueError(
                f"the covariance is {size} x {size} but x has {dimension} parameters; "
                f"give a {dimension} x {dimension} matrix"
            )
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Normal":
        if self.std is not None:
            return Normal(self.standard_deviation * scale.abs())
        return Normal(covariance=scale[:, None] * self.covariance_matrix * scale)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        root = self._root()
        return torch.randn(num, len(root), generator=generator, dtype=torch.double) @ root.T

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """exp(-omega' Sigma omega / 2)."""
        exponent = -0.5 * (omega @ self._root()).square().sum(-1)
        return torch.complex(exponent.exp(), torch.zeros_like(exponent))

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self._root(), kappa)

    def nodes(self, num: int) -> tuple[Float[Tensor, "num d"], Float[Tensor, " num"]]:
        """Gauss-Hermite per coordinate; for correlated noise a quasi-random joint rule."""
        root = self._root()
        if self.independent:
            points, weights = (torch.from_numpy(a) for a in hermegauss(num))
            return points[:, None] * root.diagonal(), weights / weights.sum()
        return _quasi_random_normal(num, len(root)) @ root.T, torch.full(
            (num,), 1 / num, dtype=torch.double
        )

    def split(self) -> tuple["Normal", Float[Tensor, "num d"], Float[Tensor, " num"]]:
        """xi as the sum of independent noise and of a common part, given as nodes and weights.

        covariance = t diag(covariance) + A A', t the smallest eigenvalue of the correlation: the
        common part has fewer dimensions than xi (one for two parameters).
        """
        Sigma = self.covariance_matrix
        sd = torch.where(Sigma.diagonal() > 0, Sigma.diagonal(), 1).sqrt()
        values, vectors = torch.linalg.eigh(Sigma / sd[:, None] / sd)
        t = values[0].clamp(0, 1)
        common = values - t > 1e-12
        A = sd[:, None] * vectors[:, common] * (values[common] - t).sqrt()
        nodes, weights = _standard_normal_nodes(A.shape[1])
        return Normal(t.sqrt() * self.standard_deviation), nodes @ A.T, weights

    def _root(self) -> Float[Tensor, "d d"]:
        """A with A A' = covariance; symmetric, so that singular covariances have one too."""
        if self.std is not None:
            return torch.diag(self.standard_deviation)
        values, vectors = torch.linalg.eigh(self.covariance_matrix)
        return vectors * values.clamp_min(0).sqrt() @ vectors.T


def _quasi_random_normal(num: int, dimension: int) -> Float[Tensor, "num d"]:
    """Sobol points through the Normal quantile, each with its mirror image: odd moments are 0."""
    engine = torch.quasirandom.SobolEngine(dimension)
    half = engine.draw((num + 1) // 2 + 1, dtype=torch.double)[1:]  # the first is the corner 0
    normal = torch.special.ndtri(half)
    points = torch.cat([normal, -normal])[:num]
    if num < 4 * dimension:
        return points
    # few points have too little variance: stretch them until it is the identity
    covariance = points.T @ points / num
    return torch.linalg.solve_triangular(
        torch.linalg.cholesky(covariance).T, points, upper=True, left=False
    )


def _standard_normal_nodes(
    dimension: int,
) -> tuple[Float[Tensor, "num d"], Float[Tensor, " num"]]:
    """About a hundred nodes: a product of Gauss-Hermite rules while that is few, Sobol beyond."""
    per_dimension = {0: 1, 1: 24, 2: 10, 3: 5}.get(dimension)
    if per_dimension is None:
        num = 128
        return _quasi_random_normal(num, dimension), torch.full((num,), 1 / num).double()
    points, weights = (torch.from_numpy(a) for a in hermegauss(per_dimension))
    weights = weights / weights.sum()
    indices = torch.cartesian_prod(*[torch.arange(per_dimension)] * dimension)
    indices = indices.reshape(-1, dimension)
    return points[indices], weights[indices].prod(-1)


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
