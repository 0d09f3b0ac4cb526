"""A fit: the model of the values told so far, and the one posterior that follows from it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial

from meseta.gp.fit import Fit, FitInfo, Weighted
from meseta.gp.joint import JointPosterior
from meseta.gp.mixture import Mixture
from meseta.gp.robust import RobustPosterior, check_error, joint_posterior
from meseta.gp.surrogate import Surrogate, Units
from meseta.noise import NoiseLaw, in_units
from meseta.optimizer.precision import Part
from meseta.space.space import Space

# Of the prior standard deviation: the error of averages over the noise that what is promised may
# have on average over draws of the hyper-parameters, some of which have short lengthscales.
NOTICEABLE = 0.01


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the values told so far say; of -f where f is minimised.

    `law` is that of the noise of all columns, placed on the box of the designs. The surrogates of
    `fit` are over the unit cube. `scatter` is the part of the scatter of the
    values that counts in use.
    """

    space: Space
    law: NoiseLaw
    fit: Fit
    scatter: Part = "all"

    def gauge(self) -> float:
        """Return the variance, standardised, that is no scatter in use; infinite: none is."""
        if self.scatter == "none" or not self.fit.scatter.told:
            return math.inf
        if self.scatter == "all":
            return 0.0
        share = self.scatter / float(self.surrogate.units.y_scale)
        return share * share

    @property
    def info(self) -> FitInfo:
        return self.fit.info

    @property
    def surrogate(self) -> Surrogate:
        """The heaviest one."""
        return self.fit.surrogates[0]

    @cached_property
    def mixture(self) -> Mixture:
        """The posterior of f and g in the unit cube, of standardised values."""
        return self.mixture_under(self.law)

    @property
    def core(self) -> JointPosterior:
        """The heaviest part of the mixture, which methods use."""
        return self.mixture.heaviest

    def mixture_under(self, law: NoiseLaw) -> Mixture:
        """The posterior for another noise, in the units of the columns."""
        parts = self._given(self.fit.surrogates, law)
        return Mixture(parts, self.fit.weights, partial(self._promised, law))

    def _promised(self, law: NoiseLaw) -> Mixture:
        parts, weights = self._given(self.drawn.surrogates, law, check=False), self.drawn.weights
        errors = zip(weights, parts, strict=True)
        check_error(sum(weight * part.kernel.error for weight, part in errors), law, NOTICEABLE)
        return Mixture(parts, weights)

    def _given(
        self, surrogates: Iterable[Surrogate], law: NoiseLaw, check: bool = True
    ) -> tuple[JointPosterior, ...]:
        inside, box = in_cube(law, self.space), self.space.experiments.bounds
        given = partial(joint_posterior, law=inside, box=box, gauge=self.gauge, check=check)
        return tuple(given(each) for each in surrogates)

    @cached_property
    def drawn(self) -> Weighted:
        """The models with draws of the hyper-parameters."""
        return self.fit.draws()

    @cached_property
    def posterior(self) -> RobustPosterior:
        """The same as a function of the columns of the space, in the units of y."""
        low, high = self.space.bounds
        y = self.surrogate.units
        return RobustPosterior(self.mixture, Units(low, high - low, y.y_offset, y.y_scale))


def in_cube(law: NoiseLaw, space: Space) -> NoiseLaw:
    """A law of the columns of a space, as one of the unit cube."""
    low, high = space.bounds
    return in_units(law, low, high - low)
