"""maximize and minimize: a whole run in one call."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd
from tqdm import tqdm

from meseta.boundary import described_error, read_count, read_value, shown
from meseta.measures import read_measure
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.comparison import comparison
from meseta.optimizer.evaluation import Evaluation, EvaluationFailed, read_evaluation
from meseta.optimizer.outcomes import Outcomes
from meseta.optimizer.record import Kept, Recommendation, Test, Trial, interval
from meseta.optimizer.settings import Direction, Keywords, Settings, read_settings
from meseta.problems import Problem
from meseta.report.views.report import Report, report
from meseta.report.views.wording import Words, read_terms
from meseta.space.space import Design, Ranges, Space

Objective = Callable[[dict[str, Any]], object]
Callback = Callable[[Optimizer, Trial], object]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The robust optimum, the nominal one beside it, and how they were found."""

    params: Design
    mean: float  # of g(params) = E f(params + xi)
    std: float  # posterior standard deviation of g(params)
    nominal_mean: float  # of f(params)
    nominal_std: float
    test: Test | None  # an evaluation at params, or close by
    beyond: float  # the share of the noise that falls beyond everything that was evaluated
    kept: Mapping[str, Kept]  # how params keep the constraints in use, by name
    sure: float  # the probability that all are kept as often as was asked for
    feasible: bool  # whether that is known: sure to at least 0.95
    nominal: Recommendation  # ignores the noise; not the target of the search
    history: pd.DataFrame
    trials: tuple[Trial, ...]
    optimizer: Optimizer  # to go on by ask and tell
    interrupted: bool  # by KeyboardInterrupt, before the budget was spent

    def report(
        self, path: str | PathLike[str], *, force: bool = False, **words: Unpack[Words]
    ) -> Path:
        """Write a report to look at: one HTML file. Returns its path.

        Args:
            path: The file to write. An older report is overwritten.
            force: Overwrite also a file that is not a report.
            words: As in `meseta.report.for_optimizer`: title, value, unit, units, at_least, ...
        """
        from meseta.report import page

        page.check_target(path, force=force)  # before the work is done
        return page.write(self.views(**words), path, force=force)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of E f(x + xi) at params."""
        return interval(self.mean, self.std, self.optimizer.possible)

    def views(self, **words: Unpack[Words]) -> Report:
        """What a report shows, as plain values: for `meseta.plot`, and for plots of your own."""
        return report(self.optimizer, read_terms(words, self.optimizer.space.names))

    def __repr__(self) -> str:
        failed = sum(trial.state == "failed" for trial in self.trials)
        title = [
            f"{self.optimizer.direction} by {self.optimizer.method}",
            f"{len(self.history)} evaluations",
            *([f"{failed} failed"] if failed else []),
            *(["interrupted"] if self.interrupted else []),
        ]
        return comparison(title, self, self.nominal, self.optimizer.measure)


class EvaluationsFailed(RuntimeError):
    """No evaluation gave a value; `trials` has them all."""

    def __init__(self, trials: tuple[Trial, ...]) -> None:
        self.trials = trials
        super().__init__(
            f"all {len(trials)} evaluations failed, so there is nothing to recommend; the first: "
            f"{trials[0].error}, at {trials[0].params}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.trials,)


def maximize(
    f: Objective | Problem,
    space: Space | Ranges | None = None,
    *,
    budget: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    settings: Settings | None = None,
    **keywords: Unpack[Keywords],
) -> Result:
    """The design with the highest E f(x + xi), from `budget` evaluations of f.

    A benchmark problem may stand in place of f, space and noise: `maximize(get("gmm"))`. It brings
    its budget and its number of initial points too, and its observations are noisy.

    An evaluation that raises an exception, calls `sys.exit`, or returns None or no finite number,
    has failed: it counts, and the run goes on. Ctrl-C ends the run early, with what was found so
    far.

    Args:
        f: Takes a dict with a value for each parameter, returns a number; or a `Problem` of
            `meseta.problems`. It may return `{"value": 0.8, "executed": {"x": 0.31}}` to say what
            was in fact carried out, and must do so for observed environment variables. Where there
            are several outcomes it returns all of them by name.
        space: The parameters with their ranges, as in `Optimizer`.
        budget: How often f is evaluated, initial and failed evaluations included.
        progress: Show a bar with the mean of g at the recommended design.
        callback: Called as `callback(optimizer, trial)` after each evaluation; it may raise
            KeyboardInterrupt to end the run.
        settings: None: the defaults.
        keywords: The settings that differ from these: noise, measure, objective, constraints,
            outcomes, edge, method, options, kernel, prior, noise_variance, possible, verify, seed,
            num_initial, initial. See `Settings`.
    """
    task = _task(f, "maximize", space, budget, read_settings(settings, keywords))
    return _run(task, progress, callback)


def minimize(
    f: Objective | Problem,
    space: Space | Ranges | None = None,
    *,
    budget: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    settings: Settings | None = None,
    **keywords: Unpack[Keywords],
) -> Result:
    """The design with the lowest E f(x + xi); otherwise as `maximize`."""
    task = _task(f, "minimize", space, budget, read_settings(settings, keywords))
    return _run(task, progress, callback)


class _Task(NamedTuple):
    """What is optimised, by what, and for how long."""

    f: Objective
    optimizer: Optimizer
    budget: int


def _task(
    f: Objective | Problem,
    direction: Direction,
    space: Space | Ranges | None,
    budget: int | None,
    settings: Settings,
) -> _Task:
    if settings.direction == "minimize" != direction:
        raise ValueError("the settings say 'minimize'; call meseta.minimize instead")
    own = read_measure(settings.measure).direction
    if own is not None and own != direction:
        raise ValueError(f"{settings.measure} is to be {own}d; call meseta.{own} instead")
    settings = replace(settings, direction=direction)
    if isinstance(f, Problem):
        return _task_of_problem(f, space, budget, settings)
    if space is None:
        raise TypeError("space is missing: the range of each parameter, {'x': (0.0, 1.0)}")
    if budget is None:
        raise TypeError("budget is missing: how often f may be evaluated")
    return _Task(f, Optimizer(space, settings=settings), budget)


def _task_of_problem(
    problem: Problem, space: Space | Ranges | None, budget: int | None, settings: Settings
) -> _Task:
    name, direction = problem.name, problem.direction
    if direction != settings.direction:
        raise ValueError(f"{name!r} is to be {direction}d; call meseta.{direction} instead")
    for what, own in (("space", space), ("noise", settings.noise)):
        if own is not None:
            raise TypeError(f"the problem {name!r} brings its own {what}; leave {what} out")
    settings = replace(
        settings,
        noise=problem.noise_by_name,
        num_initial=settings.num_initial or problem.num_initial,
    )
    optimizer = Optimizer(problem.space, settings=settings)
    return _Task(
        _observed(problem, optimizer.seed),
        optimizer,
        problem.budget if budget is None else budget,
    )


def _observed(problem: Problem, seed: int) -> Objective:
    """f(x) + eps, with eps from a stream that belongs to the seed."""
    random = np.random.default_rng([seed, 0])

    def observe(params: Design) -> float:
        eps = problem.noise_variance**0.5 * random.standard_normal()
        return float(problem.f([[params[name] for name in problem.names]])[0] + eps)

    return observe


def _run(task: _Task, progress: bool, callback: Callback | None) -> Result:
    f, optimizer, budget = task
    if not callable(f):
        raise TypeError(f"f must be a function of a dict of values, got {f!r}")
    budget = read_count("budget", budget)
    try:
        interrupted, first_error = _loop(f, optimizer, budget, progress, callback)
        if optimizer.has_values:
            return _result(optimizer, interrupted)
    except BaseException as error:  # what was evaluated must not be lost with it
        error.add_note(
            f"{len(optimizer.history)} evaluations are kept in the `optimizer` attribute of this "
            "exception: error.optimizer.history"
        )
        error.optimizer = optimizer  # type: ignore[attr-defined]
        raise
    raise EvaluationsFailed(optimizer.trials) from first_error


def _loop(
    f: Objective, optimizer: Optimizer, budget: int, progress: bool, callback: Callback | None
) -> tuple[bool, BaseException | None]:
    """Whether it was interrupted, and the first exception of f."""
    first_error = None
    with tqdm(total=budget, desc=optimizer.method, unit="evaluation", disable=not progress) as bar:
        try:
            for _ in range(budget):
                first_error = _step(f, optimizer, first_error)
                bar.set_postfix_str(_best_so_far(optimizer), refresh=False)
                bar.update()
                if callback is not None:
                    callback(optimizer, optimizer.trials[-1])
        except KeyboardInterrupt:
            if not optimizer.has_values:
                raise
            return True, first_error
    return False, first_error


def _step(
    f: Objective, optimizer: Optimizer, first_error: BaseException | None
) -> BaseException | None:
    """Ask, evaluate, tell; warn of the first failure, and return it."""
    params = optimizer.ask()
    number = optimizer.trials[-1].number
    try:
        found = _read(f(dict(params)), optimizer.outcomes)
        if not optimizer.has_values:
            _check_complete(found, optimizer)
        value: object = found.value
        if optimizer.outcomes.several and (found.value is not None or found.others):
            value = {optimizer.outcomes.objective: found.value, **found.others}
        error = (found.wrong or "f returned None") if found.value is None else None
        optimizer.tell(params, value, executed=found.executed, error=error, trial=number)
        if found.wrong and found.value is None:
            return _warned(first_error, params, found.wrong, EvaluationFailed(found.wrong))
        if found.wrong:  # Python shows each sentence once
            warnings.warn(
                f"an outcome is left out, the others count: {found.wrong}",
                RuntimeWarning,
                stacklevel=4,
            )
    except _Missing as error:  # nor will f say so the next time: the budget is not spent on it
        raise TypeError(str(error)) from None
    except (Exception, SystemExit) as error:
        reason = described_error(error)
        if isinstance(error, SystemExit):
            reason = f"f called sys.exit({shown(error.code)})"
        optimizer.tell(params, None, error=reason, trial=number)
        return _warned(first_error, params, reason, error)
    return first_error


def _warned(
    first_error: BaseException | None, params: Design, reason: str, error: BaseException
) -> BaseException:
    """The first error; of that one the user is told."""
    if first_error is None:
        warnings.warn(
            f"an evaluation of f failed, at {params}, and is left out: {reason}; further "
            "failures are noted in the trials only",
            RuntimeWarning,
            stacklevel=6,
        )
    return first_error or error


class _Missing(Exception):
    """Something that f never says."""


def _check_complete(found: Evaluation, optimizer: Optimizer) -> None:
    """Refuse a first result without what every result must have."""
    environments, outcomes = optimizer.environments, optimizer.outcomes
    missing = [name for name in environments.observed if name not in found.executed]
    if found.value is not None and missing:
        name = missing[0]
        raise _Missing(
            f"{name!r} is observed, so that f must say what it was: return {{'value': "
            f"{found.value!r}, 'executed': {{{name!r}: ...}}}}, but the first evaluation did not; "
            "or evaluate by yourself, with Optimizer.ask and Optimizer.tell"
        )
    absent = [name for name in outcomes.needed if name in found.absent]
    if found.value is not None and absent:
        raise _Missing(
            f"there is a constraint on {absent[0]!r}, so that f must return it: "
            f"{outcomes.example()}, with None for what is not known, but the first evaluation did "
            "not"
        )


def _read(result: object, outcomes: Outcomes) -> Evaluation:
    """What f returned: outcomes, and what was carried out where it says so."""
    if isinstance(result, Mapping):
        return read_evaluation(result, "the result of f", outcomes)
    if result is None:
        return Evaluation(None)
    return Evaluation(read_value(result, "the value of f", remedy=""), absent=outcomes.names)


def _best_so_far(optimizer: Optimizer) -> str:
    """Recommends, so that the history has it: the next step needs the same fit anyway."""
    return f"best {optimizer.recommend().mean:.5g}" if optimizer.has_values else ""


def _result(optimizer: Optimizer, interrupted: bool) -> Result:
    best = optimizer.recommend()
    return Result(
        params=best.params,
        mean=best.mean,
        std=best.std,
        nominal_mean=best.nominal_mean,
        nominal_std=best.nominal_std,
        test=best.test,
        beyond=best.beyond,
        kept=best.kept,
        sure=best.sure,
        feasible=best.feasible,
        nominal=optimizer.nominal(),
        history=optimizer.history,
        trials=optimizer.trials,
        optimizer=optimizer,
        interrupted=interrupted,
    )
