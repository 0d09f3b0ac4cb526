"""Mixture: several posteriors of the same f and g, weighted by the evidence for their models."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from meseta.gp.joint import JointMoments, JointPosterior

Mean = Callable[[Tensor], Tensor]  # of f, of g, or of another average of f: (m, d) -> (m,)


@dataclass(frozen=True, eq=False)
class Mixture:
    """What the data say when the model itself is uncertain; all parts are in the same units.

    Means are averages over the parts. Variances have the spread within the parts and the spread
    between their means: Var = sum_i w_i (Var_i + (m_i - m)^2).
    """

    parts: tuple[JointPosterior, ...]  # the heaviest first
    weights: tuple[float, ...]  # positive, and 1 together
    draws: "Callable[[], Mixture] | None" = None  # with hyper-parameters as they are left open

    @classmethod
    def single(cls, posterior: JointPosterior) -> "Mixture":
        return cls((posterior,), (1.0,))

    @cached_property
    def promised(self) -> "Mixture":
        """With draws of the hyper-parameters where these are learned: for what is promised."""
        return self if self.draws is None else self.draws()

    @property
    def at_modes(self) -> "Mixture":
        """With hyper-parameters as if they were known: for what is only compared."""
        return Mixture(self.parts, self.weights)

    @property
    def heaviest(self) -> JointPosterior:
        return self.parts[0]

    def scatter(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return the standard deviation of the values in use around f, by the best guess."""
        return self._average([part.scatter(x).square() for part in self.parts]).sqrt()

    def mean(self, of_part: Callable[[JointPosterior], Mean]) -> Mean:
        """The average of a mean that each part has."""
        means = [of_part(part) for part in self.parts]
        return lambda x: self._average([mean(x) for mean in means])

    def mean_f(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        return self._average([part.mean_f(x) for part in self.parts])

    def mean_g(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        return self._average([part.mean_g(x) for part in self.parts])

    def moments(self, x: Float[Tensor, "m d"]) -> JointMoments:
        """Means, variances and covariance of f and g at each x."""
        each = [part.moments(x) for part in self.parts]
        m_f, v_f, m_g, v_g, c_fg = (self._average(column) for column in zip(*each, strict=True))
        off_f, off_g = [one.m_f - m_f for one in each], [one.m_g - m_g for one in each]
        return JointMoments(
            m_f,
            v_f + self._average([off * off for off in off_f]),
            m_g,
            v_g + self._average([off * off for off in off_g]),
            c_fg + self._average([a * b for a, b in zip(off_f, off_g, strict=True)]),
        )

    def covariance_f(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m m"]:
        """Cov[f(x), f(x')] of all x."""
        within = self._average([part.covariance_f(x, x) for part in self.parts])
        return within + self._between([part.mean_f(x) for part in self.parts])

    def covariance_g(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m m"]:
        """Cov[g(x), g(x')] of all x."""
        within = self._average([part.covariance_g(x, x) for part in self.parts])
        return within + self._between([part.mean_g(x) for part in self.parts])

    def leave_one_out(
        self, rows: Int[Tensor, " m"]
    ) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Mean and variance of these values, each given all others, with the same weights."""
        means, variances = zip(*(part.leave_one_out(rows) for part in self.parts), strict=True)
        mean = self._average(means)
        between = self._average([(each - mean).square() for each in means])
        return mean, self._average(variances) + between

    def with_observations(
        self, x: Float[Tensor, "p d"], y: Float[Tensor, " p"] | None = None
    ) -> "Mixture":
        """Given further observations too, with the same weights; see JointPosterior."""
        return Mixture(tuple(part.with_observations(x, y) for part in self.parts), self.weights)

    def shares(self, num: int) -> list[int]:
        """How many of `num` samples each part has, by its weight."""
        ends = [round(num * end) for end in itertools.accumulate(self.weights)]
        return [end - begin for begin, end in itertools.pairwise([0, *ends])]

    def _average(self, values: Sequence[Tensor]) -> Tensor:
        if len(values) == 1:
            return values[0]
        return torch.stack([w * v for w, v in zip(self.weights, values, strict=True)]).sum(0)

    def _between(self, means: list[Tensor]) -> Float[Tensor, "m m"]:
        mean = self._average(means)
        return self._average([torch.outer(each - mean, each - mean) for each in means])
