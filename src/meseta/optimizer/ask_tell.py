"""Optimizer: ask for designs, tell their values, recommend the robust optimum."""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition import methods
from meseta.boundary import EVERY, SEEDS, read_count, read_list, shown, unknown
from meseta.gp.in_use import Taken
from meseta.gp.limited import Assessment, LimitedOutcome, assessment, sure_of
from meseta.gp.mixture import Mixture
from meseta.gp.observed import Acting, acting
from meseta.gp.robust import RobustPosterior
from meseta.measures import Mean, Measure, WorstCase, read_measure
from meseta.measures.constraints import Constraint
from meseta.measures.within import Within
from meseta.noise import NoiseLaw, resolved
from meseta.noise.perturbed import perturbed
from meseta.optimizer.allocation import Allocation, allocation
from meseta.optimizer.amendment import (
    UNCHANGED,
    Amendment,
    applied,
    check_amendment,
    read_who,
    read_words,
)
from meseta.optimizer.beyond import (
    EXPLORED,
    beyond,
    check_wider,
    check_worst_case,
    unexplored,
)
from meseta.optimizer.confirmation import Confirmation, confirmation
from meseta.optimizer.constrained import constrained_nominal, constrained_optimum, kept_at, tells
from meseta.optimizer.deviations import deviations
from meseta.optimizer.evaluation import read_executed
from meseta.optimizer.fitted import Fitted, in_cube
from meseta.optimizer.fitting import fit_values
from meseta.optimizer.history import check_names, history
from meseta.optimizer.learned import known_exactly, learned_laws, stated_laws, with_laws
from meseta.optimizer.outcomes import VALUE, Told
from meseta.optimizer.precision import (
    VARIES,
    Execution,
    check_of_values,
    part_of,
    read_execution,
    read_n,
    read_new_std,
    read_std,
)
from meseta.optimizer.recommend import (
    belief_of,
    mean_of_measure,
    measured_optimum,
    nominal_optimum,
    robust_optimum,
    value_in_use,
)
from meseta.optimizer.record import (
    SURE,
    Counted,
    Estimate,
    Known,
    Origin,
    Recommendation,
    Record,
    State,
    Test,
    Trial,
    as_possible,
)
from meseta.optimizer.repeats import Experiment, untold
from meseta.optimizer.resume import read_record
from meseta.optimizer.rows import Distinct, Rows
from meseta.optimizer.scatter import in_words
from meseta.optimizer.settings import (
    Direction,
    OptimizerKeywords,
    Settings,
    read_settings,
)
from meseta.optimizer.several import EachOrAll, at_place, read_several
from meseta.optimizer.suggest import SuggestInfo, repeated, stream_of, suggest
from meseta.optimizer.window import Window, window
from meseta.space.environments import Environments
from meseta.space.initial import read_initial, spread_points
from meseta.space.named_noise import (
    check_acting,
    read_environment,
    read_noise,
    without_environment,
)
from meseta.space.parameter import SAME_DESIGN
from meseta.space.price import Costs, Widths, read_prices
from meseta.space.recording import check_recordable
from meseta.space.space import Design, Params, Ranges, Space, check_params

if TYPE_CHECKING:
    import pandas as pd

# A point that is told this close to a pending one, in shares of the ranges, is that one, as it was
# typed or carried out.
RECOGNISED = 1e-2
ATTEMPTS = 100  # to find a point apart from the others; a box of a few floats may have none
BLOCK = 128  # points of the sequence that are computed in one go


class Optimizer:
    """Robust Bayesian optimization of g(x) = E f(x + xi) by ask and tell.

    The same calls of `ask` and `tell` give the same points; `recommend` and `nominal` change
    nothing but the history, whenever they are called.

    Args:
        space: The parameters with their ranges, `{"speed": (4.1, 5.0)}`; `Float` has a logarithmic
            scale or steps, `Int` whole numbers, `Categorical` choices.
        settings: None: the defaults.
        keywords: The settings that differ from these: noise, measure, edge, direction, method,
            options, kernel, prior, noise_variance, possible, scatter_in_use, verify, seed,
            num_initial, initial. See `Settings`.
    """

    def __init__(
        self,
        space: Space | Ranges,
        *,
        settings: Settings | None = None,
        **keywords: Unpack[OptimizerKeywords],
    ) -> None:
        check_recordable()
        chosen = read_settings(settings, keywords, OptimizerKeywords)
        self.settings = chosen
        named = space if isinstance(space, Space) else Space(space)
        variables = read_environment(chosen.noise, named)
        design = [name for name in named.names if name not in variables]
        self.space = named.restricted(chosen.allowed, design)
        self._rough = stated_laws(chosen.noise, self.space)
        exact = {name: known_exactly(law) for name, law in self._rough.items()}
        self.stated = self._noise_with(exact)  # as if all widths were known
        self.learned = self._rough  # the laws whose widths are learned, given what was measured
        self.noise = self._noise_with(self.learned)
        self.environments = Environments(self.space, variables)
        if chosen.executed == "unseen":
            check_acting(self._acting)
        self.options = methods.checked_options(chosen.method, chosen.options)
        check_wider(self.space, self.noise, self.environments, chosen.method)
        self.measure = read_measure(chosen.measure)
        self.outcomes = chosen.named_outcomes
        check_names(self.space, self.outcomes)
        check_worst_case(self.measure, self.law, self.space)
        self.seed = chosen.drawn_seed()
        self.initial = read_initial(chosen.initial, chosen.num_initial, self.environments)
        self.info: SuggestInfo | None = None  # behind the last point of the method
        self._record = Record()
        self._rows = Rows(self.space)
        self._block: tuple[int, Float[Tensor, "block d"]] | None = None  # of the sequence
        self._fitted: Fitted | None = None  # until the next value is told
        self._by_width: list[list[tuple[Fitted, float]]] | None = None  # the same for some widths
        self._others: dict[str, Fitted] = {}  # the same for other outcomes
        self._assessed: dict[bool, dict[str, Assessment]] = {False: {}, True: {}}
        self._optimum: tuple[Fitted, Float[Tensor, " d"]] | None = None  # of that fit

    def __repr__(self) -> str:
        return (
            f"<Optimizer: {self.direction} over {', '.join(self.space.names)} by {self.method}, "
            f"{self._progress()}>"
        )

    @property
    def direction(self) -> Direction:
        """Whether large or small values are wanted; a measure may have a direction of its own."""
        return self.measure.direction or self.settings.direction

    @property
    def possible(self) -> tuple[float, float]:
        """The least and the largest that the measure can be."""
        return self.settings.possible if self.measure.within_values else self.measure.ends

    @property
    def method(self) -> str:
        return self.settings.method

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every point asked for or told, in that order."""
        return tuple(replace(trial, params=dict(trial.params)) for trial in self._record.trials)

    @property
    def history(self) -> "pd.DataFrame":
        """One row per value or failure told, in that order, with what `recommend` said after it."""
        return history(self._record, self.space, self.environments.design, self.outcomes)

    @property
    def deviations(self) -> "pd.DataFrame":
        """Measured deviations from what was asked for, beside the noise that is assumed.

        A row for each parameter of the design that is a number, with the number of its `pairs` of a
        planned and a measured value. What was carried out as planned, without anybody having
        measured it, is no pair: `tell` says what is.
        """
        return deviations(self._record.trials, self.space, self.stated, self.environments.design)

    @property
    def has_values(self) -> bool:
        """Whether there is anything to recommend by."""
        return any(trial.state == "complete" for trial in self._record.trials)

    @property
    def posterior(self) -> RobustPosterior:
        """The posterior of f and g given the values told so far; of -f and -g in a minimisation."""
        return self.fitted.posterior

    @property
    def law(self) -> NoiseLaw:
        """The noise law of all columns, placed on the box of the designs."""
        return self._placed(self.noise)

    def _placed(self, noise: NoiseLaw) -> NoiseLaw:
        return resolved(noise.in_dimension(self.space.num_columns), *self.space.bounds)

    def _noise_with(self, laws: Mapping[str, NoiseLaw]) -> NoiseLaw:
        """The noise with these laws in place of those whose widths are learned."""
        noise = with_laws(self.settings.noise, self.space, laws)
        return read_noise(noise, self.space, self.settings.edge)

    @property
    def _acting(self) -> NoiseLaw:
        """The noise that acts in experiments; environments are as they are set."""
        noise = without_environment(with_laws(self.settings.noise, self.space, self.learned))
        return read_noise(noise, self.space, self.settings.edge)

    def _learn(self) -> None:
        """The widths that what was measured speaks for."""
        learned = learned_laws(self._rough, self._record.trials)
        if learned != self.learned:
            self.learned = learned
            self.noise = self._noise_with(learned)
            self._forget()

    @property
    def fitted(self) -> Fitted:
        """The model of the values told so far; of -f where f is minimised."""
        if self._fitted is None:
            if not self.has_values:
                raise RuntimeError(
                    f"there is no value yet to go by ({self._progress()}); "
                    "tell the value of at least one point first"
                )
            complete = self._record.complete
            values = [self._flip(trial.value) for trial in complete if trial.value is not None]
            self._fitted = self._fit(VALUE, complete, values, self.settings.noise_variance)
        return self._fitted

    def outcome(self, name: str) -> RobustPosterior:
        """The posterior of another outcome, by its name, in its own sign."""
        known = tuple(dict.fromkeys((*self.outcomes.names, *dict(self.outcomes.constraints))))
        if name not in known:
            raise ValueError(unknown("outcome", name, known))
        fitted = self.model_of(name)
        if fitted is None:
            raise RuntimeError(f"there is no value of {name!r} yet; tell at least one")
        return fitted.posterior

    def model_of(self, name: str) -> Fitted | None:
        """The model of another outcome; None: it has no value yet."""
        if name not in self._others:
            told = self._values_of(name)
            if not told:
                return None
            values = [value for _, value in told]
            trials = tuple(trial for trial, _ in told)
            own, noise = name == self.outcomes.objective, self.settings.noise_variance
            limits = dict(self.outcomes.constraints).get(name)
            scale = None if limits is None else limits.distance(values[0])
            variance = noise if own or noise == VARIES else None
            self._others[name] = self._fit(VALUE if own else name, trials, values, variance, scale)
        return self._others[name]

    def values_of(self, name: str) -> list[float]:
        """The values of an outcome that were told."""
        return [value for _, value in self._values_of(name)]

    def _values_of(self, name: str) -> list[tuple[Trial, float]]:
        """The trials that have a value of an outcome, with that value."""
        if name == self.outcomes.objective:
            known = [(trial, trial.value) for trial in self._record.complete]
        else:
            known = [(trial, trial.outcomes.get(name)) for trial in self._record.trials]
        return [(trial, value) for trial, value in known if value is not None]

    def _fit(
        self,
        key: str,
        trials: tuple[Trial, ...],
        values: list[float],
        noise_variance: float | str | None,
        scale: float | None = None,
    ) -> Fitted:
        acted = self.settings.executed == "unseen" or any(trial.unseen for trial in trials)
        return fit_values(
            self.space,
            self.law,
            self.settings,
            trials,
            self._points(trials),
            torch.tensor(values, dtype=torch.double),
            key,
            self._noise_in_experiments() if acted else None,
            noise_variance,
            scale,
            part_of(self.settings.scatter_in_use, self.outcomes.objective if key == VALUE else key),
        )

    def _noise_in_experiments(self) -> Acting:
        """The noise that acts in experiments, in the unit cube."""
        law = in_cube(self._placed(self._acting), self.space)
        return acting(law, self.space.num_columns)

    def _limits(self, pending: Float[Tensor, "p d"] | None = None) -> dict[str, LimitedOutcome]:
        """Return the limits that count, by outcome, given pending experiments.

        These are the limits of outcomes with enough values: for the next design, for both optima
        and for how surely a design keeps them.
        """
        limits = {}
        for name, constraint in self.outcomes.constraints:
            fitted = self.model_of(name)
            if fitted is not None and tells(self.values_of(name)):
                units, mixture = fitted.posterior.units, fitted.mixture
                if pending is not None and len(pending):
                    mixture = mixture.with_observations(pending)
                if name == self.outcomes.objective:
                    constraint = constraint.of_possible(self.settings.possible)
                margin = constraint.margin(float(units.y_offset), float(units.y_scale))
                limits[name] = LimitedOutcome(mixture, margin)
        return limits

    @overload
    def ask(self) -> Design: ...
    @overload
    def ask(self, n: int) -> list[Design]: ...
    def ask(self, n: int | None = None) -> Design | list[Design]:
        """The next point to evaluate, or a list of n of them.

        A point asked for is pending until it is told; until then no other is asked for beside it,
        unless there is no other design.
        """
        if n is None:
            return self._ask(1)[0]
        before = self._record, self.info
        try:
            return self._ask(read_count("n", n))
        except BaseException:
            # what was not handed out is not pending
            self._record, self.info = before
            raise

    def tell(
        self,
        params: Params | Sequence[Params],
        value: object,
        *,
        error: EachOrAll[str] = None,
        trial: EachOrAll[int] = None,
        std: EachOrAll[float | Mapping[str, float | None]] = None,
        n: EachOrAll[int] = None,
        executed: EachOrAll[Params | Execution] = None,
    ) -> None:
        """The value of f at any point, asked for or not; None: the evaluation failed.

        Several outcomes are told as a dict, {"weight": 3.2, "stress": None}: None for what is not
        known. Without the one that is optimised the evaluation has failed, and the others count.

        A failed point is not asked for again. `error` says why it failed. A point that is told
        within 1 % of the ranges of a pending one, whole numbers and choices being equal, counts as
        that one, carried out a little differently: the model learns from the told params. One that
        was carried out further off says by `trial` which number it was asked for under.

        `std` is the standard deviation of a measurement, where it is known; of several outcomes a
        dict. The mean of `n` measurements is told with n, and their standard deviation, if any, is
        taken for an estimate by so many.

        `executed` are values that were measured, by name, {"dose": 1.02}: they count in place of
        those in `params`, and are what `deviations` compares with the plan. Without it a value that
        differs from the plan counts as measured, and one that equals the plan does not. It is
        "unseen" if the noise acted on the experiment as it does in use, and nobody saw how: then
        params are what was planned. "known" if params were carried out. None: as the settings say.

        Several designs are told as a list, with a list of their values: all of them, or none if
        there is a mistake in one. All else is then one for all of them, or a list with one for
        each, None for what is not said of one.
        """
        if read_list(params) is None:
            self._tell(params, value, error, trial, std, n, executed)
            return
        several = read_several(params, value, (error, trial, std, n, executed))
        before = self._record
        try:
            for place, each in enumerate(several):
                with at_place(place):
                    self._tell(*each)
        except BaseException:
            self._record = before
            self._forget()
            if self._rough:
                self._learn()
            raise

    def _tell(
        self,
        params: Any,
        value: object,
        error: object,
        trial: object,
        std: object,
        n: object,
        executed: Any,
    ) -> None:
        check_params(params)
        told = self.outcomes.read(value, self.settings.possible)
        execution, measured = read_executed({} if executed is None else executed)
        if any(name in self.environments.design for name in measured):
            execution = "known"
        unseen = (execution or self.settings.executed) == "unseen"
        if unseen and self.settings.executed != "unseen":  # which was looked at before
            check_acting(self._acting)
        known = Known(
            outcomes=told.others, std=read_std(std, self.outcomes), n=read_n(n), unseen=unseen
        )
        given = () if told.value is None else (VALUE,)
        check_of_values(known["std"], (*given, *told.others), self.outcomes.objective)
        planned = self._complete({**measured, **params} if measured else params, told)
        params = self._complete({**params, **measured}, told) if measured else planned
        number = self._recognised(planned) if trial is None else self._pending(trial)
        if told.value is not None and error is not None:
            raise ValueError(
                f"error={shown(error)} comes with a value, {shown(value)}; drop one of them"
            )
        if told.value is not None or told.others:
            self._forget()
        error = None if error is None else str(error)
        plan = planned if number is None else self._record.trials[number].params
        if not unseen:
            names = self.environments.design
            known["measured"] = tuple(n for n in names if n in measured or params[n] != plan[n])
        self._record = self._record.with_told(params, told.value, error, number, plan, **known)
        if self._rough:
            self._learn()

    def _complete(self, params: Params, told: Told) -> Design:
        """The design that was told; an experiment that failed may not have seen environments."""
        failed = told.value is None and not told.others
        return self.space.read(self.environments.complete(params) if failed else params)

    def correct(
        self,
        number: int,
        value: object = UNCHANGED,
        *,
        why: str,
        params: Params | None = None,
        error: str | None = None,
        std: float | Mapping[str, float | None] | None = None,
        n: int | None = None,
        executed: Execution | None = None,
        who: str | None = None,
    ) -> None:
        """Put right what was told of a trial; the model learns from what holds now.

        What was told before stays in `Trial.amendments`, with who changed it, when and why. A
        trial that was withdrawn counts again.

        Args:
            number: The trial.
            value: The value in fact; a dict: those of the outcomes that change; None: the
                evaluation failed. Left out: as it was told.
            why: For those who read the record later.
            params: What was carried out in fact; only those that change. They count as measured,
                and a trial on which the noise acted unseen is known then.
            error: Why it failed in fact; None: as `why` says.
            std: See `tell`; in a dict, None stands for one that is not known in fact. None: as it
                was told, also where the value changes.
            n: See `tell`; None: as it was told.
            executed: "unseen" or "known", see `tell`; None: as it was told.
            who: None: the name of the user.
        """
        trial = self._told(number)
        changed = {} if params is None else self._executed(trial, params)
        said = {} if value is UNCHANGED else value
        told = self.outcomes.read_correction(said, self.settings.possible)
        if error is not None and not told.failed:
            raise ValueError(
                f"error={shown(error)} is for trials that failed: pass None as the value"
            )
        execution = read_execution(executed)
        if execution == "unseen":
            check_acting(self._acting)
        elif trial.entry.unseen and any(name in self.environments.design for name in changed):
            execution = "known"
        reason = read_words("why", why)
        amendment = Amendment(
            "correct",
            reason,
            value=told.value,
            error=(reason if error is None else str(error)) if told.failed else None,
            params=changed,
            outcomes=told.others,
            std=read_new_std(std, self.outcomes),
            n=None if n is None else read_n(n),
            unseen=None if execution is None else execution == "unseen",
            who=read_who(who),
        )
        self._amend(trial, amendment)

    def withdraw(self, number: int, *, why: str, who: str | None = None) -> None:
        """Let a trial that was told count no more, such as one of a wrong sample.

        Its design may be asked for again. It stays in `trials` as withdrawn.
        """
        trial = self._told(number)
        self._amend(trial, Amendment("withdraw", read_words("why", why), who=read_who(who)))

    def comment(self, number: int, text: str, *, who: str | None = None) -> None:
        """Add a remark for people to a trial, also to a pending one."""
        trial = self._numbered(number)
        self._amend(trial, Amendment("comment", read_words("text", text), who=read_who(who)))

    def _amend(self, trial: Trial, amendment: Amendment) -> None:
        ((entry, known),) = applied(trial.entry, [amendment])
        check_amendment(trial.number, trial.entry, amendment, self.outcomes.objective)
        self._record = self._record.with_amended(trial.amended(entry, known))
        if amendment.what != "comment":
            self._forget()
            if self._rough:
                self._learn()

    def _executed(self, trial: Trial, params: Params) -> Design:
        """Those of the params that are given, read."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict of those that change, got {shown(params)}")
        read = self.space.read({**trial.params, **params})
        return {name: value for name, value in read.items() if name in params}

    def _told(self, number: int) -> Trial:
        """A trial that was told, refused if it is pending."""
        trial = self._numbered(number)
        if trial.state == "pending":
            raise ValueError(f"trial {number} is pending; tell its value instead")
        return trial

    def _numbered(self, number: object) -> Trial:
        trials = self._record.trials
        read = read_count("number", number, least=0)
        if read >= len(trials):
            raise ValueError(f"there is no trial {number}; the last one is {len(trials) - 1}")
        return trials[read]

    def _forget(self) -> None:
        """The models of what was told before."""
        self._fitted, self._others, self._by_width = None, {}, None
        self._assessed = {False: {}, True: {}}

    def with_trials(self, trials: object, *, seed: int | None = None) -> "Optimizer":
        """An optimizer with the same settings that goes on from these trials, not from its own.

        Trials of a run that was interrupted, or kept by another tool: complete, pending and failed
        ones, numbered 0, 1, 2, ... in their order. Those of `Optimizer.trials` are such. A model
        is fitted anew, unless these are the values that this optimizer has fitted already.

        Args:
            trials: A list of `meseta.optimizer.record.Trial`.
            seed: The seed of everything random from here on; None: as it was.
        """
        other = copy(self)
        possible = self.settings.possible
        read = read_record(trials, self.space, self.environments, possible, self.outcomes)
        other._record = read
        if read.informative != self._record.informative:
            other._forget()
        other._learn()
        other.info = None
        other._rows, other._block = Rows(self.space), None
        if seed is not None:
            other._assessed, other._optimum = (
                {False: {}, True: {}},
                None,
            )  # which are drawn by the seed
            other.seed = read_count("seed", seed, least=0, most=SEEDS)
        return other

    def recommend(self, *, quick: bool = False) -> Recommendation:
        """Return the robust optimum that the values told so far speak for.

        Args:
            quick: Take the hyper-parameters of the model as known, as on the way of a run. What is
                promised is then surer than it should be.
        """
        best = self._valued(self._robust_optimum(), quick)
        self._record = self._record.with_best(best)
        return replace(best, params=dict(best.params))

    @property
    def recommends_quickly(self) -> bool:
        """Whether a recommendation takes no longer than a fit; by another measure than the mean,
        or with constraints, it takes as long as a step, or longer."""
        return isinstance(self.measure, Mean) and not self.outcomes.constraints

    def nominal(self) -> Recommendation:
        """The best point if nothing perturbed it, and what it is worth once perturbed."""
        mixture, held = self.fitted.mixture, self.environments.typical()
        measure = self.measure_in_model()
        limits = list(self._limits().values())
        if limits:
            x = constrained_nominal(
                mixture, limits, self.space.cube, measure=measure, seed=self.seed, held=held
            )
            return self._valued(x)
        x = nominal_optimum(mixture, self.space.cube, measure=measure, seed=self.seed, held=held)
        return self._valued(x)

    def promise(self, params: Params) -> Recommendation:
        """What the model expects of any design."""
        return self._valued(self.environments.to_row(params))

    def confirm(
        self,
        params: Params,
        results: Sequence[object],
        *,
        executed: Sequence[Params] | None = None,
    ) -> Confirmation:
        """Whether runs of a design, as it will be used, keep what the model promises of it.

        Args:
            params: The design.
            results: Of each run what `tell` takes. They are not told; do that afterwards.
            executed: What was carried out in each run, see `perturbed`; None: the noise acted by
                itself, and nobody saw how.
        """
        return confirmation(self, params, results, executed, self.seed)

    def allocate(
        self,
        goal: Constraint | None,
        costs: Costs,
        *,
        widths: Widths | None = None,
        confidence: float = SURE,
    ) -> Allocation:
        """The cheapest tolerances, and the design for them, that meet the goal.

        Nothing is evaluated: all that is by the values told so far. Constraints of other outcomes
        are met as well. Noise without a cost stays as it is.

        Args:
            goal: Which values are good, and how often they must be: AtLeast(0.8, 0.99), AtMost,
                Between; None: the constraints alone.
            costs: By parameter what its tolerance costs: a formula such as "12 / width", or a table
                of grades, {0.01: 40, 0.02: 25}. The width is the number that is written in the
                noise law: the standard deviation of Normal, the half-width of Uniform.
            widths: Between which widths to choose, by parameter, (0.005, 0.1); from a tenth of
                today's to ten times as much where nothing is said.
            confidence: How sure it must be that the goal is met.
        """
        prices = read_prices(costs, widths, self.space.names)
        return allocation(self, goal, prices, confidence)

    def window(
        self,
        goal: Constraint | None = None,
        *,
        params: Params | None = None,
        confidence: float = SURE,
    ) -> Window:
        """The largest box of settings around a design in which the goal is met everywhere.

        Args:
            goal: Which values are good, and how often they must be in use: AtLeast(0.8, 0.99),
                AtMost, Between; None: the constraints alone.
            params: The design; None: the recommended one.
            confidence: How sure it must be of each design in the box that it meets the goal.
        """
        return window(self, goal, params, confidence)

    def perturbed(self, params: Params, n: int, *, seed: int = 0) -> list[Design]:
        """What a design becomes in use, n times: to evaluate it as it will be.

        Environment variables are drawn as well. Values are in the units of the parameters; numbers
        need not lie within their ranges, nor on their steps.
        """
        design = self.space.read(self.environments.complete(params, self.environments.variables))
        x = torch.tensor([self.space.to_columns(design)], dtype=torch.double)
        generator = torch.Generator().manual_seed(read_count("seed", seed, least=0, most=SEEDS))
        z = perturbed(self.law, x.expand(read_count("n", n), -1), generator)
        return [self.space.to_values(row) for row in z]

    def _ask(self, n: int) -> list[Design]:
        before = len(self._record.trials)
        self._record = self._record.with_asked(self._given_left()[:n], "given")
        while (left := n - len(self._record.trials) + before) > 0:
            # without any value all points are spread, and in any case the first ones
            early = self.initial.num - len(self._record.counted) if self.has_values else left
            designs, origin = self._next(min(left, early))
            self._record = self._record.with_asked(designs, origin)
        return [
            self.environments.without(trial.params, self.environments.observed)
            for trial in self._record.trials[before:]
        ]

    def _given_left(self) -> list[Design]:
        """The given points that nobody has asked for or told yet, each once."""
        if not self.initial.given:
            return []
        # a point that was carried out otherwise was asked for all the same
        counted = self._record.counted
        planned = [self.space.to_cube(trial.planned) for trial in counted if trial.planned]
        known = Distinct(torch.cat([self._points(counted), *(row[None] for row in planned)]))
        left = []
        for params in self.initial.given:
            if self._is_apart(params, known.rows):
                known.add(self.space.to_cube(params))
                left.append(params)
        return left

    def _next(self, early: int) -> tuple[list[Design], Origin]:
        """The next `early` points that fill the box; if that is none, one point of the method."""
        if early <= 0:
            untested = self._untested()
            params = self._suggest() if untested is None else untested
            # a method without a model never means to evaluate a design twice
            modelled = methods.get(self.method).prepare is not None
            others = self._record.busy if modelled else self._record.counted
            if self._is_apart(params, self._points(others)):
                return [params], "method" if untested is None else "test"
        return self._space_filling(max(1, early)), "space-filling"

    def _space_filling(self, num: int) -> list[Design]:
        """The next points of the sequence that are other experiments than all pending and failed.

        They are ones that were not evaluated either, if there are any: choices may coincide, and
        numbers where a trial before was withdrawn.
        """
        trials, record = self._record.trials, self._record
        busy, known = (Distinct(self._points(some)) for some in (record.busy, record.counted))
        designs: list[Design] = []
        for index in range(len(trials), len(trials) + num):
            params, row = self._free_point(index, busy, known)
            busy.add(row)
            known.add(row)
            designs.append(params)
        return designs

    def _free_point(
        self, index: int, busy: Distinct, known: Distinct
    ) -> tuple[Design, Float[Tensor, " d"]]:
        """A design of the sequence, and its row."""
        other: tuple[Design, Float[Tensor, " d"]] | None = None
        for params in self._sequence(index):
            row = self.space.to_cube(params)
            if (self._distances(busy.rows, row) > SAME_DESIGN).all():
                if (self._distances(known.rows, row) > SAME_DESIGN).all():
                    return params, row
                other = other or (params, row)
        return other or (params, row)

    def _sequence(self, first: int) -> Iterator[Design]:
        """Points spread over the box from number `first` on; then all designs, if these are few."""
        for index in range(first, first + ATTEMPTS):
            yield self.space.from_cube(self._spread_point(index))
        cube = self.space.cube
        if cube.finite and cube.combinations <= ATTEMPTS:
            yield from map(self.space.from_cube, cube.every())

    def _spread_point(self, index: int) -> Float[Tensor, " d"]:
        """Point number `index` of the sequence; a block of it is kept."""
        block, place = divmod(index, BLOCK)
        if self._block is None or self._block[0] != block:
            points = spread_points(self.initial.spread, self.space, block * BLOCK, BLOCK, self.seed)
            self._block = block, points
        return self._block[1][place]

    def _suggest(self) -> Design:
        """The next point of the method."""
        cube, number = self.space.cube, len(self._record.trials)
        generator = torch.Generator().manual_seed(self.seed + number)
        held = self.environments.drawn(generator)
        if methods.get(self.method).prepare is None:  # no model is needed
            self.info = SuggestInfo()
            x = self.space.experiments.sobol_sequence(number, 1, self.seed)[0]
            return self.space.from_cube(x if held is None else held.put(x))
        fitted, pending = self.fitted, self._points(self._record.busy)
        measure, limits = self.measure_in_model(), list(self._limits(pending).values())
        prepare = methods.prepare(self.method, self.options, measure, limits)
        assert prepare is not None
        stream = stream_of(self.seed, number)
        x, prepared, maximize = suggest(
            fitted.core, cube, prepare, stream, pending, held, self.space.experiments
        )
        if self.settings.noise_variance == VARIES:
            x = repeated(prepared, x, self._points(self._record.complete), held)
        recorded = prepared.info.raw(fitted.posterior.units)
        error = fitted.core.kernel.error
        self.info = SuggestInfo(fitted.info, prepared, recorded, error, maximize)
        return self.space.from_cube(x)

    def _robust_optimum(self) -> Float[Tensor, " d"]:
        fitted = self.fitted
        if self._optimum is None or self._optimum[0] is not fitted:
            x = self._found_optimum(fitted.mixture, self._assessed_limits())
            # the very row of the params that are handed out: all that is said of these is the same
            self._optimum = fitted, self.environments.to_row(self.environments.from_row(x))
        return self._optimum[1]

    def optimum_under(self, law: NoiseLaw) -> Float[Tensor, " d"]:
        """The design that is recommended if this is the noise of the columns: by the same measure,
        and with the same constraints; a row of the unit cube."""
        known = []
        for name, (limit, _) in zip(self._assessments(), self._assessed_limits(), strict=True):
            model = self.model_of(name)
            assert model is not None
            other = LimitedOutcome(model.mixture_under(law).at_modes, limit.margin)
            known.append((other, assessment(other, self._generator(name))))
        return self._found_optimum(self.fitted.mixture_under(law), known)

    def _assessed_limits(self) -> list[tuple[LimitedOutcome, Assessment]]:
        """The limits that count, with what tells how designs keep them."""
        limits = self._limits()
        return [(limits[name], each) for name, each in self._assessments().items()]

    def _found_optimum(
        self, mixture: Mixture, known: list[tuple[LimitedOutcome, Assessment]]
    ) -> Float[Tensor, " d"]:
        cube, held = self.space.cube, self.environments.typical()
        measure = self.measure_in_model()
        if known:
            value = (
                belief_of(mixture, self.method, self.options)
                if measure is None
                else mean_of_measure(mixture, measure, seed=self.seed)
            )
            limits, assessed = zip(*known, strict=True)
            return constrained_optimum(
                mixture, value, limits, assessed, cube, seed=self.seed, held=held
            )
        if measure is not None:
            return measured_optimum(mixture, cube, measure, seed=self.seed, held=held)
        return robust_optimum(
            mixture,
            cube,
            method=self.method,
            options=self.options,
            seed=self.seed,
            held=held,
        )

    def measure_in_model(self) -> Measure | None:
        """The measure of standardised values; None: it is the mean, or there is no model."""
        if isinstance(self.measure, Mean) or not self.has_values:
            return None
        offset, scale = self.user_units
        inside = self.measure.in_units(offset, scale)
        if self.settings.possible == EVERY:
            return inside
        if inside.around_mean and not self.fitted.core.scatters:
            return inside
        ends = sorted((end - offset) / scale for end in self.settings.possible)
        return Within(inside, *ends)

    @property
    def user_units(self) -> tuple[float, float]:
        """Offset and scale of standardised values, in the user's sign."""
        units, sign = self.fitted.posterior.units, self._flip(1.0)
        return sign * float(units.y_offset), sign * float(units.y_scale)

    def _untested(self) -> Design | None:
        """The recommended design, if it is time to test it and nothing close by was evaluated.

        Before that what the noise makes of it beyond all evaluations, where that is allowed: there
        its value is extrapolated.
        """
        number = len(self._record.trials)
        every = self.settings.verify
        if every == 0 or (number - self.initial.num + 1) % every:
            return None
        if methods.get(self.method).prepare is None:
            return None
        x, known = self._robust_optimum(), self._points(self._record.counted)
        generator = torch.Generator().manual_seed(self.seed + number)
        further = self._unexplored(x, generator)
        if further is not None:
            x = further
        elif (self._from_design(known, x) <= EXPLORED).any():
            return None
        held = self.environments.drawn(generator)
        self.info = SuggestInfo(self.fitted.info)
        return self.space.from_cube(x if held is None else held.put(x))

    def _unexplored(
        self, x: Float[Tensor, " d"], generator: torch.Generator
    ) -> Float[Tensor, " d"] | None:
        """Where noise takes a design beyond all trials; None: nowhere that can be evaluated."""
        if not self.space.wider:
            return None
        law, rows = in_cube(self.law, self.space), self._points(self._record.counted)
        return unexplored(law, x, rows, self.space.experiments, generator)

    def _test(self, x: Float[Tensor, " d"]) -> Test | None:
        """The evaluation closest to a design, beside what the others led to expect."""
        complete = self._record.complete
        distance = self._from_design(self._points(complete), x)
        nearest = int(distance.argmin())
        if distance[nearest] > EXPLORED or len(complete) < 2:
            return None
        units = self.fitted.posterior.units
        mean, variance = self.fitted.mixture.leave_one_out(torch.tensor([nearest]))
        trial, std = complete[nearest], float(variance.sqrt() * units.y_scale)
        assert trial.value is not None
        itself = bool(distance[nearest] <= SAME_DESIGN)
        return Test(trial.value, self._flip(float(units.y_to_raw(mean))), std, itself)

    def _from_design(self, rows: Float[Tensor, "n d"], x: Float[Tensor, " d"]) -> Tensor:
        """How far rows are from a design: the largest difference in what is part of designs."""
        apart = self.space.apart(rows, x)
        for name in self.environments.variables:
            apart[:, self.space.columns_of(name)] = 0.0
        return apart.amax(-1)

    def _points(self, trials: tuple[Trial, ...]) -> Float[Tensor, "n d"]:
        return self._rows.of(trials)

    def _recognised(self, params: Design) -> int | None:
        """The number of the pending trial that these params are meant to be."""
        pending = self._record.pending
        if not pending:
            return None
        distance = self._distances(self._points(pending), self.space.to_cube(params))
        nearest = int(distance.argmin())
        return pending[nearest].number if distance[nearest] <= RECOGNISED else None

    def _pending(self, number: object) -> int:
        """The number of a pending trial, refused if it is none."""
        pending = [trial.number for trial in self._record.pending]
        read = read_count("trial", number, least=0)
        if read not in pending:
            raise ValueError(
                f"trial {read} is not pending; those that are: {pending or 'none'}. Leave "
                "trial out for a point that nobody asked for"
            )
        return read

    def _is_apart(self, params: Design, rows: Float[Tensor, "n d"]) -> bool:
        """Whether it is another experiment than all of those."""
        return bool((self._distances(rows, self.space.to_cube(params)) > SAME_DESIGN).all())

    def _distances(
        self, rows: Float[Tensor, "n d"], row: Float[Tensor, " d"]
    ) -> Float[Tensor, " n"]:
        """From each of the rows: the largest difference in what can be set, see `Space.apart`."""
        apart = self.space.apart(rows, row)
        return apart.masked_fill(~self.environments.settable, 0.0).amax(-1)

    def _valued(self, x: Float[Tensor, " d"], quick: bool = False) -> Recommendation:
        """Return the design at a row of the unit cube, with what the model expects of it."""
        assessed = {name: each.at(x) for name, each in self._assessments(quick).items()}
        kept = {
            name: kept_at(
                constraint, assessed.get(name), self.counted(name), self.scatter_in_words(x, name)
            )
            for name, constraint in self.outcomes.constraints
        }
        known = all(name in assessed for name in kept)
        mixture = self.fitted.mixture.at_modes if quick else self.fitted.mixture
        f, open_f = mixture.mean_f(x[None])[0], mixture.promised.moments(x[None])
        variance = open_f.v_f + (open_f.m_f - f).square()
        further = beyond(self.law, x, self._points(self._record.complete), self.space)
        value = self._value_in_use(mixture, x)
        offset, scale = self.user_units
        nominal = offset + scale * float(f), abs(scale) * math.sqrt(float(variance))
        return Recommendation(
            self.environments.from_row(x),
            value.mean,
            value.std,
            *as_possible(*nominal, self.settings.possible),
            self._test(x),
            further.share,
            self.possible,
            kept,
            further.outside,
            value.interval,
            sure_of(list(assessed.values())) if known else 0.0,
            self._scatter_of_measure(x),
        )

    def _scatter_of_measure(self, x: Float[Tensor, " d"]) -> str:
        if isinstance(self.measure, Mean):
            return ""
        words = self.scatter_in_words(x)
        if words and isinstance(self.measure, WorstCase) and self.measure.share is None:
            return "without the scatter of single values, which has no limits"
        return words

    @property
    def untold_scatter(self) -> str:
        """That scatter and structure cannot be told apart, where it is so; otherwise nothing."""
        experiments = [Experiment(t.params, VALUE in t.std) for t in self._record.complete]
        parameters = dict(zip(self.space.names, self.space.parameters, strict=True))
        return untold(parameters, experiments, self.settings.noise_variance)

    def scatter_in_words(self, x: Float[Tensor, " d"], outcome: str | None = None) -> str:
        """What figures at a row of the unit cube count of the scatter of single values.

        Empty: nothing is known of the outcome, or its values do not scatter. None: the objective.
        """
        own = outcome is None or outcome == self.outcomes.objective
        model = self.fitted if own else self.model_of(outcome or "")
        return "" if model is None else in_words(model, x)

    def counted(self, name: str) -> Counted:
        """The values of an outcome, and the evaluations that gave anything."""
        return Counted(len(self._values_of(name)), len(self._record.informative))

    def _assessments(self, quick: bool = False) -> dict[str, Assessment]:
        """What tells how designs keep the limits that count."""
        known = self._assessed[quick]
        for name, limit in self._limits().items():
            if name not in known:
                mixture = limit.mixture.at_modes if quick else limit.mixture
                known[name] = assessment(limit._replace(mixture=mixture), self._generator(name))
        return known

    def stream(self, name: str) -> int:
        """The seed of one outcome, whose draws have nothing to do with those of another."""
        return (self.seed + zlib.crc32(name.encode())) % 2**63

    def _generator(self, name: str) -> torch.Generator:
        return torch.Generator().manual_seed(self.stream(name))

    def _value_in_use(self, mixture: Mixture, x: Float[Tensor, " d"]) -> Estimate:
        """Return what the measure is at a row of the unit cube."""
        measure = self.measure_in_model()

        def value(fitted: Fitted) -> Taken:
            return value_in_use(fitted.mixture.at_modes, measure, x, seed=self.seed)

        taken = value_in_use(mixture, measure, x, seed=self.seed)
        if self.learned:
            before = value(self.fitted)
            added = self._of_widths(value, before.std**2)
            wider = math.sqrt(1 + added / max(before.std**2, 1e-300))
            middle = taken.samples.mean()
            taken = taken._replace(samples=middle + wider * (taken.samples - middle))
        return self._in_user_terms(taken)

    def measured(self, mixture: Mixture, x: Float[Tensor, " d"]) -> Estimate:
        """Return what the measure is at a row of the unit cube, in the user's terms."""
        return self._in_user_terms(
            value_in_use(mixture, self.measure_in_model(), x, seed=self.seed)
        )

    def _in_user_terms(self, taken: Taken) -> Estimate:
        """Return a measure, from what it is in units of the model."""
        offset, scale = self.user_units
        low, high = taken.between()
        low, high = sorted(self.measure.raw(end, offset, scale) for end in (low, high))
        mean = self.measure.raw(taken.mean, offset, scale)
        spread = self.measure.raw_std(taken.std, scale)
        if self.measure.within_values:
            mean, spread = as_possible(mean, spread, self.settings.possible)
        least, most = self.possible
        ends = min(max(low, least), most), min(max(high, least), most)
        return Estimate(min(max(mean, least), most), spread, ends)

    def _of_widths(self, value: Callable[[Fitted], Taken], variance: float) -> float:
        """What widths that are not known exactly add to the variance of a value.

        Var v = E_w Var[v | w] + Var_w E[v | w] for each of them; they are independent.
        """
        added = 0.0
        for nodes in self._fitted_by_width():
            values = [(share, value(fitted)) for fitted, share in nodes]
            middle = sum(share * each.mean for share, each in values)
            whole = sum(share * (each.std**2 + (each.mean - middle) ** 2) for share, each in values)
            added += max(0.0, whole - variance)
        return added

    def _fitted_by_width(self) -> list[list[tuple[Fitted, float]]]:
        """For each learned width: the model by some widths, with their weights."""
        if self._by_width is None:
            self._by_width = []
            for name, law in self.learned.items():
                laws, weights = law.by_width()
                noises = [self._noise_with({**self.learned, name: each}) for each in laws]
                models = [replace(self.fitted, law=self._placed(noise)) for noise in noises]
                self._by_width.append(list(zip(models, weights, strict=True)))
        return self._by_width

    def _flip(self, value: float) -> float:
        """From the user's sign to that of a maximisation, and back."""
        return value if self.direction == "maximize" else -value

    def _progress(self) -> str:
        states = [trial.state for trial in self._record.trials]
        words: list[State] = ["complete", "pending", "failed"]
        if "withdrawn" in states:
            words.append("withdrawn")
        return ", ".join(f"{states.count(state)} {state}" for state in words)
