"""Categories that may be taken for one another."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from meseta.noise.law import unscented
from meseta.noise.normal import Normal

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Confusion:
    """With this probability another choice of a category is carried out than was asked for.

    One number: each of the other choices is equally likely. A matrix: row i has the probabilities
    of what is carried out when choice i was asked for, and sums to 1.
    """

    probability: float | Matrix

    def __post_init__(self) -> None:
        p = self.probability
        if isinstance(p, (int, float)) and not isinstance(p, bool):
            if not 0 <= p <= 1:
                raise ValueError(
                    f"the probability of a Confusion must lie between 0 and 1, got {p!r}"
                )
            object.__setattr__(self, "probability", float(p))
            return
        rows = torch.as_tensor(p, dtype=torch.double)
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
            raise ValueError(
                "a Confusion takes one probability, or a square matrix with a row for each "
                f"choice, got {p!r}"
            )
        if not ((rows >= 0).all() and torch.allclose(rows.sum(-1), torch.ones(1).double())):
            raise ValueError(
                f"every row of a Confusion must be probabilities that sum to 1, got {p!r}"
            )
        object.__setattr__(self, "probability", tuple(tuple(row) for row in rows.tolist()))

    def matrix(self, num: int) -> Float[Tensor, "num num"]:
        """Probabilities of what is carried out, for each of `num` choices asked for."""
        if isinstance(self.probability, float):
            other = self.probability / (num - 1)
            same = torch.eye(num, dtype=torch.double)
            return (1 - self.probability) * same + other * (1 - same)
        if len(self.probability) != num:
            raise ValueError(
                f"the Confusion has {len(self.probability)} rows but the category {num} choices"
            )
        return torch.tensor(self.probability, dtype=torch.double)


@dataclass(frozen=True)
class Confused:
    """A category in the columns of x: with probability matrix[i][j], choice j in place of i.

    `choices` are the rows of columns that stand for them.
    """

    choices: Matrix
    matrix: Matrix

    @property
    def independent(self) -> bool:
        return False

    @property
    def marginals(self) -> tuple[Normal, ...]:
        """Columns of a category have nothing added to them."""
        return (Normal(0.0),) * len(self.choices[0])

    @property
    def mean(self) -> Float[Tensor, " d"]:
        return torch.zeros(len(self.choices[0]), dtype=torch.double)

    @property
    def covariance_matrix(self) -> Float[Tensor, "d d"]:
        return torch.diag(self.mean)

    def in_dimension(self, dimension: int) -> "Confused":
        return self

    def scaled(self, scale: Float[Tensor, " d"]) -> "Confused":
        return self.in_units(torch.zeros_like(scale), 1 / scale)

    def in_units(self, offset: Float[Tensor, " d"], width: Float[Tensor, " d"]) -> "Confused":
        """The same for (x - offset) / width in place of x."""
        rows = (torch.tensor(self.choices, dtype=torch.double) - offset) / width
        return Confused(tuple(tuple(row) for row in rows.tolist()), self.matrix)

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
        """Nothing is added to x, so that of 0."""
        return torch.ones(len(omega), dtype=torch.cdouble)

    def sigma_points(
        self, kappa: float = 1.0
    ) -> tuple[Float[Tensor, "points d"], Float[Tensor, " points"]]:
        return unscented(self.mean, self.covariance_matrix, kappa)

    def nodes(self, num: int) -> tuple[Float[Tensor, "num d"], Float[Tensor, " num"]]:
        """The one node of 0."""
        return self.mean[None], torch.ones(1, dtype=torch.double)
