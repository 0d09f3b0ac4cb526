"""The subject of a report: an optimizer with values, in the terms and the sign of its user."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.gp.in_use import InUse, Rehearsal, mean_in_use, rehearsal, sampled_f
from meseta.gp.joint import JointMoments
from meseta.gp.limited import Assessed
from meseta.gp.mixture import Mixture
from meseta.gp.robust import raw_moments
from meseta.gp.surrogate import Units
from meseta.measures import Mean
from meseta.measures.capability import BEYOND
from meseta.noise import NoiseLaw
from meseta.noise.perturbed import perturbed
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.fitted import in_cube
from meseta.optimizer.record import Recommendation, Trial, as_possible
from meseta.optimizer.suggest import SuggestInfo
from meseta.report.views.estimate import Estimate
from meseta.space.parameter import Parameter, Value
from meseta.space.space import Design

SAMPLES = 128  # of f, where shares of the scatter are looked at
CHUNK = 1024  # rows at a time: covariances of all of them at once would not fit the cache


@dataclass(frozen=True, eq=False)
class Subject:
    """The optimizer that the views show.

    It may know parameters and choices by other names than its user does: `outside` turns a design,
    or part of one, into the user's terms.
    """

    optimizer: Optimizer
    names: Mapping[str, str] = field(default_factory=dict)  # names of the user, where they differ
    outside: Callable[[Design], dict[str, Any]] = dict
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters with a single value
    numbers: Sequence[int] | None = None  # trial numbers of the user; None: the same
    order: Sequence[str] = ()  # names of the user; empty: the order of the optimizer

    @property
    def sign(self) -> float:
        """1 if the user maximises, otherwise -1."""
        return 1.0 if self.optimizer.direction == "maximize" else -1.0

    @property
    def parameters(self) -> tuple[str, ...]:
        """All parameters, by the optimizer's names, in the user's order."""
        place = {name: i for i, name in enumerate(self.order)}
        names = self.optimizer.space.names
        return tuple(sorted(names, key=lambda name: place.get(self.name(name), len(place))))

    @property
    def design(self) -> tuple[str, ...]:
        """The parameters of a design: all but environment variables."""
        chosen = self.optimizer.environments.design
        return tuple(name for name in self.parameters if name in chosen)

    @cached_property
    def law(self) -> NoiseLaw:
        """The noise law of all columns, in their own units."""
        return self.optimizer.law

    def perturbed(
        self, x: Float[Tensor, "1 d"], num: int, stream: int, law: NoiseLaw | None = None
    ) -> Float[Tensor, "num d"]:
        """Samples of x + xi in the unit cube, by the optimizer's noise law or another one."""
        inside = in_cube(self.law if law is None else law, self.optimizer.space)
        return perturbed(inside, x.expand(num, -1), self.generator(stream))

    @cached_property
    def by_measure(self) -> tuple[Recommendation, Recommendation]:
        """Both optima, in the optimizer's terms, with the values of its measure."""
        return self.optimizer.recommend(), self.optimizer.nominal()

    @cached_property
    def robust(self) -> Recommendation:
        """The robust optimum, in the optimizer's terms, with its mean in use."""
        return self._by_mean(self.by_measure[0])

    @cached_property
    def nominal(self) -> Recommendation:
        """The nominal optimum, in the optimizer's terms, with its mean in use."""
        return self._by_mean(self.by_measure[1])

    def _by_mean(self, best: Recommendation) -> Recommendation:
        if isinstance(self.optimizer.measure, Mean):
            return best
        x, possible = self.rows([best.params]), self.optimizer.settings.possible
        found = self.estimate_g(self.optimizer.fitted.mixture, x)
        ends = found.low, found.high
        return replace(best, mean=found.mean, std=found.std, possible=possible, interval=ends)

    @cached_property
    def x_robust(self) -> Float[Tensor, "1 d"]:
        return self.rows([self.robust.params])

    @cached_property
    def scatter_in_words(self) -> str:
        """Return what figures of the values in use count of the scatter of single values."""
        return self.optimizer.scatter_in_words(self.x_robust[0])

    def scatter(self, x: Float[Tensor, "1 d"], num: int, stream: int) -> Float[Tensor, " num"]:
        """Draws of what single values scatter by in use, in the user's units."""
        std = self.optimizer.fitted.mixture.scatter(x) * self.units.y_scale
        return std * torch.randn(num, generator=self.generator(stream), dtype=torch.double)

    @cached_property
    def x_nominal(self) -> Float[Tensor, "1 d"]:
        return self.rows([self.nominal.params])

    @cached_property
    def next_design(self) -> tuple[Design, SuggestInfo]:
        """The design that a copy of the optimizer asks for, and how it was found."""
        other = self.optimizer.with_trials(self.optimizer.trials)
        params = other.ask()
        return params, other.info or SuggestInfo()

    @cached_property
    def rehearsal(self) -> Rehearsal:
        """What designs are seen in use by, with the percentiles of capability in mind."""
        return rehearsal(self.optimizer.fitted.mixture, BEYOND, self.generator(2))

    def in_use(self, x: Float[Tensor, "1 d"], by: Rehearsal | None = None) -> InUse:
        """The values of a design in use, in the user's units and sign, if they can be."""
        if by is not None:
            return self._seen_by(by, x)
        key = tuple(x[0].tolist())
        if key not in self._seen:
            self._seen[key] = self._seen_by(self.rehearsal, x)
        return self._seen[key]

    def _seen_by(self, by: Rehearsal, x: Float[Tensor, "1 d"]) -> InUse:
        offset, scale = self.optimizer.user_units
        possible = self.optimizer.settings.possible
        return by.at(x[0]).mapped(lambda values: (offset + scale * values).clamp(*possible))

    @cached_property
    def _seen(self) -> dict[tuple[float, ...], InUse]:
        """Both optima are looked at in several parts of a report."""
        return {}

    @cached_property
    def assessments(self) -> dict[Hashable, Assessed]:
        """What is known already about designs that meet a goal."""
        return {}

    def number(self, trial: Trial) -> int:
        """The user's number of a trial."""
        return trial.number if self.numbers is None else self.numbers[trial.number]

    def called(self, design: Design) -> dict[str, Any]:
        """A design in the user's terms and order."""
        outer = self.outside(design)
        names = dict.fromkeys([*self.order, *outer])
        return {name: outer[name] for name in names if name in outer}

    def name(self, inside: str) -> str:
        """The user's name of a parameter."""
        return self.names.get(inside, inside)

    def value(self, inside: str, value: Value) -> Any:
        """The user's value of a parameter; choices of a study may be any object."""
        (outer,) = self.outside({inside: value}).values()
        return outer

    def parameter(self, inside: str) -> Parameter:
        space = self.optimizer.space
        return space.parameters[space.names.index(inside)]

    def generator(self, stream: int) -> torch.Generator:
        """A generator from the optimizer's seed, with a stream of its own for each purpose."""
        return torch.Generator().manual_seed((self.optimizer.seed + 7919 * stream) % 2**63)

    def rows(self, designs: Sequence[Design]) -> Float[Tensor, "m d"]:
        """Designs as rows of the unit cube, with typical values of environment variables."""
        return torch.stack([self.optimizer.environments.to_row(each) for each in designs])

    def moments(self, x: Float[Tensor, "m d"]) -> JointMoments:
        """The moments of f and g at rows of the unit cube, in the user's units and sign."""
        parts = [self.optimizer.fitted.mixture.moments(chunk) for chunk in x.split(CHUNK)]
        whole = JointMoments(*(torch.cat(column) for column in zip(*parts, strict=True)))
        m_f, v_f, m_g, v_g, c_fg = raw_moments(whole, self.units)
        return JointMoments(self.sign * m_f, v_f, self.sign * m_g, v_g, c_fg)

    @property
    def units(self) -> Units:
        """The units that turn cube and standardised values into the user's, without the sign."""
        return self.optimizer.posterior.units

    def estimate_g(self, mixture: Mixture, x: Float[Tensor, "1 d"]) -> Estimate:
        """The estimate of g(x) by a posterior over the unit cube, in the user's units and sign."""
        offset, scale = self.optimizer.user_units
        possible = self.optimizer.settings.possible
        taken = mean_in_use(mixture, x[0])
        low, high = sorted(offset + scale * end for end in taken.between())
        ends = max(low, possible[0]), min(high, possible[1])
        mean, std = as_possible(offset + scale * taken.mean, abs(scale) * taken.std, possible)
        return Estimate(mean, std, possible, ends)

    def design_at(self, x: Float[Tensor, "1 d"]) -> Design:
        """The design at a row of the unit cube, in the optimizer's terms."""
        return self.optimizer.environments.from_row(x[0])

    def f_samples(self, x: Float[Tensor, "m d"], num: int = SAMPLES) -> Float[Tensor, "num m"]:
        """Joint samples of f at rows of the unit cube, in the user's units and sign.

        For what is compared: hyper-parameters count as known.
        """
        offset, scale = self.optimizer.user_units
        values = sampled_f(self.optimizer.fitted.mixture.at_modes, x, num, self.generator(1))
        return offset + scale * values

    def f_values(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "num m"]:
        """The same, with what is impossible moved to the nearest possible value."""
        return self.f_samples(x).clamp(*self.optimizer.settings.possible)

    def f_best_guess(self, x: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """The mean of f at rows of the unit cube, in the user's units and sign, if possible."""
        mixture = self.optimizer.fitted.mixture
        values = torch.cat([mixture.mean_f(chunk) for chunk in x.split(CHUNK)])
        raw = self.sign * self.units.y_to_raw(values)
        return raw.clamp(*self.optimizer.settings.possible)
