"""Categories that may be taken for one another."""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

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
