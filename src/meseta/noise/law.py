"""What every noise law offers, and the checks they share."""

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

Width = float | int | np.floating | Sequence[float | int] | Tensor | np.ndarray


@runtime_checkable
class NoiseLaw(Protocol):
    """The law p(xi) of a perturbation of x, in the units of x.

    A law given by one number holds for every dimension; until `in_dimension` says how
    many there are, it is one-dimensional.
    """

    def __hash__(self) -> int:
        """Laws are values: results that were derived from them are cached by them."""
        ...

    @property
    def independent(self) -> bool:
        """Whether the coordinates of xi are independent of each other."""
        ...

    @property
    def marginals(self) -> tuple["NoiseLaw", ...]:
        """The one-dimensional law of each coordinate; a one-dimensional law is its own.

        Where the coordinates are independent this is the whole law, and kernels use nothing else.
        """
        ...

    @property
    def mean(self) -> Float[Tensor, " d"]: ...

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]: ...

    def in_dimension(self, dimension: int) -> "NoiseLaw":
        """This law for a design of `dimension` parameters; refuses another number of widths."""
        ...

    def scaled(self, scale: Float[Tensor, " d"]) -> "NoiseLaw":
        """The law of scale * xi: the same noise in other units of x."""
        ...

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]: ...

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """E exp(i omega' xi)."""
        ...

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        """Points and weights of the unscented transformation."""
        ...


@runtime_checkable
class OneDimensional(NoiseLaw, Protocol):
    """A noise law of one number: it has a density, point masses, or both.

    Normal and Uniform of several parameters have these methods as well but refuse to answer;
    their marginals do.
    """

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """The density of the continuous part: its integral is 1 minus the mass of the atoms."""
        ...

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """The integral of that density up to xi."""
        ...

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        """Values and weights of the point masses; empty where there are none."""
        ...

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the density or one of its first derivatives jumps, in ascending order."""
        ...

    def interval(self, tail: float) -> tuple[float, float]:
        """A finite interval that holds all but at most `tail` of the mass.

        The support itself where that is finite and not mostly empty.
        """
        ...


def no_atoms() -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
    return torch.empty(0, dtype=torch.double), torch.empty(0, dtype=torch.double)


def single(law: NoiseLaw, values: Float[Tensor, " d"]) -> float:
    """The one value of a law of one number; a law of several has none."""
    if len(values) != 1:
        # AttributeError, so that hasattr, and with it isinstance, says no
        raise AttributeError(
            f"{law} is the law of {len(values)} parameters; density, atoms, breaks and interval "
            "belong to a law of one: take one of its marginals"
        )
    return float(values)


def depends_on_x(law: NoiseLaw) -> bool:
    """Whether the law is that of zeta, where xi = x zeta, width(x) zeta or x (exp(zeta) - 1)."""
    return (
        getattr(law, "relative", False)
        or getattr(law, "multiplicative", False)
        or getattr(law, "width", None) is not None
    )


def read_width(name: str, width: Width) -> float | tuple[float, ...]:
    """A width as a number or a tuple of numbers, refusing what cannot be one."""
    try:
        values = torch.as_tensor(width, dtype=torch.double)
    except (TypeError, ValueError, RuntimeError):
        values = torch.empty(0, 0)
    if values.ndim > 1 or not values.numel() or isinstance(width, (str, bytes, bool)):
        raise TypeError(
            f"{name} must be a number, or a list with one number per parameter, got {width!r}"
        )
    if not (values.isfinite() & (values >= 0)).all():
        raise ValueError(
            f"{name} must be finite and not negative, got {width!r}; "
            "give it in the units of x, 0 for a parameter without noise"
        )
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def widths_in_dimension(
    name: str, width: float | tuple[float, ...], dimension: int
) -> tuple[float, ...]:
    """One width per parameter."""
    if isinstance(width, float):
        return (width,) * dimension
    if len(width) != dimension:
        raise ValueError(
            f"{name} has {len(width)} values but x has {dimension} parameters; "
            "give one number for all of them, or exactly one per parameter"
        )
    return width


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """NumPy's generator for laws that torch cannot draw from, seeded by torch's."""
    seed = torch.randint(2**63 - 1, (1,), generator=generator)
    return np.random.default_rng(int(seed))


def wave(phase: Float[Tensor, "*shape"]) -> Complex[Tensor, "*shape"]:
    """exp(i phase)."""
    return torch.complex(phase.cos(), phase.sin())


def symmetric_root(covariance: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """A with A A' = covariance; symmetric, so that singular covariances have one too."""
    values, vectors = torch.linalg.eigh(covariance)
    return vectors * values.clamp_min(0).sqrt() @ vectors.T


def unscented(
    mean: Float[Tensor, " d"], root: Float[Tensor, "d d"], kappa: float
) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
    """Sigma points mean, mean +- sqrt(d + kappa) root_i [Julier and Uhlmann 2004, Eq. 12].

    `root` is any matrix with root root' = covariance; its columns are the directions.
    """
    d = mean.shape[0]
    if not d + kappa > 0:
        raise ValueError(f"kappa must be greater than -{d} in {d} dimensions, got {kappa}")
    steps = math.sqrt(d + kappa) * root.T
    points = torch.cat([mean.unsqueeze(0), mean + steps, mean - steps])
    weights = torch.full((2 * d + 1,), 0.5 / (d + kappa), dtype=mean.dtype)
    weights[0] = kappa / (d + kappa)
    return points, weights
