"""Noise that is known from measurements: the deviations that were measured come again."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.arguments import Numbers, as_numbers
from meseta.noise.discrete import average_wave, merged
from meseta.noise.law import NoiseLaw, single, symmetric_root, unscented

# A longer sample is not spelled out in messages.
SPELLED_OUT = 1000


@dataclass(frozen=True, init=False, repr=False)
class Empirical:
    """xi is one of the samples, each as likely: measured deviations, in the units of x.

    A list of numbers is the law of one parameter; a table with a row for each sample and a
    column for each parameter is their joint law.
    """

    samples: tuple[float, ...] | tuple[tuple[float, ...], ...]

    def __init__(self, samples: Numbers) -> None:
        table = _read_samples(samples)
        column = table[:, 0].tolist() if table.shape[1] == 1 else map(tuple, table.tolist())
        object.__setattr__(self, "samples", tuple(column))

    def __repr__(self) -> str:
        if len(self.samples) <= SPELLED_OUT:
            return f"Empirical({self.samples})"
        return f"Empirical(<{len(self.samples)} samples of {self.table.shape[1]}>)"

    @cached_property
    def table(self) -> Float[Tensor, "n d"]:
        return torch.tensor(self.samples, dtype=torch.double).reshape(len(self.samples), -1)

    @cached_property
    def _hash(self) -> int:
        return hash(self.samples)

    def __hash__(self) -> int:
        return self._hash

    @property
    def _weights(self) -> Float[Tensor, " n"]:
        return torch.full((len(self.samples),), 1 / len(self.samples), dtype=torch.double)

    @property
    def independent(self) -> bool:
        return self.table.shape[1] == 1

    @property
    def marginals(self) -> tuple["Empirical", ...]:
        if self.independent:
            return (self,)
        return tuple(Empirical(column) for column in self.table.T)

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return self.table.mean(0)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        """The sample is the whole law, so the sum is divided by n, not by n - 1."""
        centred = self.table - self.mean
        return centred.T @ centred / len(centred)

    def in_dimension(self, dimension: int) -> NoiseLaw:
        if self.independent and dimension > 1:
            from meseta.noise.independent import Independent  # which knows these laws

            return Independent([self] * dimension)
        if self.table.shape[1] != dimension:
            raise ValueError(
                f"the samples of Empirical have {self.table.shape[1]} columns but x has "
                f"{dimension} parameters; give exactly one column per parameter"
            )
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Empirical":
        return Empirical(self.table * scale)

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        return self.table[torch.randint(len(self.table), (num,), generator=generator)]

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """mean_i exp(i omega' xi_i)."""
        return average_wave(omega, self.table, self._weights)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, symmetric_root(self.covariance_matrix), kappa)

    def pdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        single(self, self.mean)
        return torch.zeros_like(xi)

    def cdf(self, xi: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        single(self, self.mean)
        return torch.zeros_like(xi)

    @property
    def atoms(self) -> tuple[Float[Tensor, " a"], Float[Tensor, " a"]]:
        single(self, self.mean)
        return self._atoms

    @cached_property
    def _atoms(self) -> tuple[Tensor, Tensor]:
        return merged(self.table[:, 0], self._weights)

    @property
    def breaks(self) -> tuple[float, ...]:
        single(self, self.mean)
        return ()

    def interval(self, tail: float) -> tuple[float, float]:
        values, _ = self.atoms
        return float(values[0]), float(values[-1])


def _read_samples(samples: object) -> Float[Tensor, "n d"]:
    what = "the samples of Empirical"
    table = as_numbers(samples)
    if table.ndim not in (1, 2):
        raise TypeError(
            f"{what} must be a list of numbers, or a table with a row for each sample and a "
            f"column for each parameter, got {samples!r}"
        )
    if not table.numel():
        raise ValueError(f"{what} must be at least one, got {samples!r}")
    if not table.isfinite().all():
        missing = int((~table.isfinite()).sum())
        raise ValueError(f"{what} must be finite, but {missing} are not; leave out what is missing")
    return table.reshape(len(table), -1)
