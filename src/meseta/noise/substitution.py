"""Choices of a category that may be mistaken for each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import unscented
from meseta.noise.normal import Normal

Matrix = tuple[tuple[float, ...], ...]


if TYPE_CHECKING:
    Probability = float | Sequence[Sequence[float]]
else:  # at run time it is read by hand, so that a mistake is named
    Probability = object


@dataclass(frozen=True, init=False)
class Substitution:
    """The probability that another choice of a category is carried out than the one asked for.

    One number: each of the other choices is equally likely. A matrix: row i has the probabilities
    of what is carried out when choice i was asked for, and sums to 1.
    """

    probability: float | Matrix

    def __init__(self, probability: Probability) -> None:
        object.__setattr__(self, "probability", _read_probability(probability))

    def matrix(self, num: int) -> Float[Tensor, "num num"]:
        """Probabilities of what is carried out, for each of `num` choices asked for."""
        if isinstance(self.probability, float):
            other = self.probability / (num - 1)
            same = torch.eye(num, dtype=torch.double)
            return (1 - self.probability) * same + other * (1 - same)
        if len(self.probability) != num:
            raise ValueError(
                f"the Substitution has {len(self.probability)} rows but the category {num} choices"
            )
        return torch.tensor(self.probability, dtype=torch.double)


def _read_probability(probability: Any) -> float | Matrix:
    expected = (
        "a Substitution takes one probability, or a square matrix with a row of probabilities for "
        f"each choice, got {probability!r}"
    )
    try:
        values = torch.as_tensor(probability, dtype=torch.double)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(expected) from None
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{expected}; each must lie between 0 and 1")
    if values.ndim == 0:
        return float(values)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(expected)
    if not torch.allclose(values.sum(-1), torch.ones_like(values[0])):
        raise ValueError(f"{expected}; every row must sum to 1")
    return tuple(tuple(row) for row in values.tolist())


@dataclass(frozen=True)
class Substituted:
    """A category in the columns of x: with probability matrix[i][j], choice j in place of i.

    `choices` are the rows of columns that stand for them.
    """

    choices: Matrix
    matrix: Matrix

    def in_words(self, unit: str) -> str:
        rows = torch.tensor(self.matrix, dtype=torch.double)
        if bool((rows == rows[0]).all()):
            return "environment: a choice that nobody makes"
        return f"another choice with probability {float(1 - rows.diagonal().mean()):.3g}"

    @property
    def independent(self) -> bool:
        return False

    @property
    def marginals(self) -> tuple[Normal, ...]:
        """Normal(0) for each column: nothing is added to the columns of a category."""
        return (Normal(0.0),) * len(self.choices[0])

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.zeros(len(self.choices[0]), dtype=torch.double)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.diag(self.mean)

    def in_dimension(self, dimension: int) -> "Substituted":
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Substituted":
        return self.in_units(torch.zeros_like(scale), 1 / scale)

    def in_units(self, offset: Float[Tensor, " d"], width: Float[Tensor, " d"]) -> "Substituted":
        """This law for (x - offset) / width in place of x."""
        rows = (torch.tensor(self.choices, dtype=torch.double) - offset) / width
        return Substituted(tuple(tuple(row) for row in rows.tolist()), self.matrix)

    def sample_at(
        self, x: Float[Tensor, "m d"], generator: torch.Generator
    ) -> Float[Tensor, "m d"]:
        """What is carried out, for each x."""
        choices, matrix = (torch.tensor(a, dtype=torch.double) for a in (self.choices, self.matrix))
        asked = (x[:, None] - choices).square().sum(-1).argmin(-1)
        return choices[torch.multinomial(matrix[asked], 1, generator=generator)[:, 0]]

    def sample(self, num: int, generator: torch.Generator) -> Float[Tensor, "num d"]:
        """Deviations from the first choice."""
        first = torch.tensor(self.choices[:1], dtype=torch.double).expand(num, -1)
        return self.sample_at(first, generator) - first

    def characteristic(self, omega: Float[Tensor, "m d"]) -> Complex[Tensor, " m"]:
        """Nothing is added to x: the characteristic function of 0."""
        return torch.ones(len(omega), dtype=torch.cdouble)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix, kappa)
