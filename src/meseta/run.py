"""maximize and minimize: a whole run in one call."""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np
import pandas as pd

from meseta.boundary import read_count
from meseta.measures import Mean, read_measure
from meseta.optimizer.ask_tell import Optimizer
from meseta.optimizer.called import Objective
from meseta.optimizer.comparison import comparison, comparison_html
from meseta.optimizer.executors import Executors, MakeExecutor, read_workers
from meseta.optimizer.loop import Callback, run_all
from meseta.optimizer.outcomes import Outcomes
from meseta.optimizer.record import Kept, Recommendation, Test, Trial
from meseta.optimizer.settings import Direction, Keywords, Settings, read_settings
from meseta.optimizer.workers import Here, Workers
from meseta.problems import Problem
from meseta.report.views.report import Report, report
from meseta.report.views.wording import Words, read_terms
from meseta.space.space import Design, Ranges, Space


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
    outside: float  # the part of that which falls where no experiment is allowed
    kept: Mapping[str, Kept]  # how params keep the constraints in use, by name
    sure: float  # the probability that all are kept as often as was asked for
    feasible: bool  # whether that is known: sure to at least 0.95
    interval: tuple[float, float]  # the 95 % interval of g(params)
    scatter: str  # what another measure than the mean counts of the scatter of single values
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

    def views(self, **words: Unpack[Words]) -> Report:
        """What a report shows, as plain values: for `meseta.plot`, and for plots of your own."""
        return report(self.optimizer, read_terms(words, self.optimizer.space.names))

    def __repr__(self) -> str:
        return comparison(
            self._title, self, self.nominal, self.optimizer.measure, self.optimizer.untold_scatter
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return comparison_html(
            self._title, self, self.nominal, self.optimizer.measure, self.optimizer.untold_scatter
        )

    @property
    def _title(self) -> list[str]:
        failed = sum(trial.state == "failed" for trial in self.trials)
        return [
            f"{self.optimizer.direction} by {self.optimizer.method}",
            f"{len(self.history)} evaluations",
            *([f"{failed} failed"] if failed else []),
            *(["interrupted"] if self.interrupted else []),
        ]


class EvaluationsFailed(RuntimeError):
    """No evaluation gave a value; `trials` has them all, `left` is the rest of the budget."""

    def __init__(self, trials: tuple[Trial, ...], left: int = 0) -> None:
        self.trials = trials
        self.left = left
        rest = f"; {left} more were not tried: give_up=0 would go on" if left > 0 else ""
        super().__init__(
            f"all {len(trials)} evaluations failed, so there is nothing to recommend; the first: "
            f"{trials[0].error}, at {trials[0].params}{rest}"
        )

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.trials, self.left)


def maximize(
    f: Objective | Problem,
    space: Space | Ranges | None = None,
    *,
    budget: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    executor: Executor | MakeExecutor | None = None,
    workers: int | None = None,
    settings: Settings | None = None,
    **keywords: Unpack[Keywords],
) -> Result:
    """The design with the highest E f(x + xi), from `budget` evaluations of f.

    A benchmark problem may stand in place of f, space and noise: `maximize(get("gmm"))`. It brings
    its budget and its number of initial points too, and its observations are noisy.

    An evaluation that raises an exception, calls `sys.exit`, or returns None or no finite number,
    has failed: it counts, and the run goes on, unless the first ten all fail (`give_up`). Ctrl-C
    ends the run early, with what was found so far; evaluations that an executor has begun are
    waited for, until Ctrl-C is pressed again.

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
        executor: Who evaluates f, several designs at a time: a `concurrent.futures.Executor`
            (threads, processes, `client.get_executor()` of Dask, MPI), which is not shut down; or
            a function without arguments that makes one, and another one when it breaks. None:
            this process, one design after the other.
        workers: How many designs the executor has in hand at a time.
        settings: None: the defaults.
        keywords: The settings that differ from these: noise, measure, objective, constraints,
            outcomes, edge, method, options, kernel, prior, noise_variance, possible,
            scatter_in_use, verify, give_up, seed, num_initial, initial. See `Settings`.
    """
    _refuse_problem(f, executor)
    task = _task(f, "maximize", space, budget, read_settings(settings, keywords))
    return _run(task, progress, callback, executor, workers)


def minimize(
    f: Objective | Problem,
    space: Space | Ranges | None = None,
    *,
    budget: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    executor: Executor | MakeExecutor | None = None,
    workers: int | None = None,
    settings: Settings | None = None,
    **keywords: Unpack[Keywords],
) -> Result:
    """The design with the lowest E f(x + xi); otherwise as `maximize`."""
    _refuse_problem(f, executor)
    task = _task(f, "minimize", space, budget, read_settings(settings, keywords))
    return _run(task, progress, callback, executor, workers)


def _refuse_problem(f: object, executor: object) -> None:
    if isinstance(f, Problem) and executor is not None:
        raise TypeError(
            f"the problem {f.name!r} is evaluated here, in microseconds, and its observation noise "
            "is drawn in the order of the trials; leave executor out"
        )


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
    measure = read_measure(settings.measure)
    own_measure = problem.measure != Mean()
    for what, doubled in (
        ("space", space is not None),
        ("noise", settings.noise is not None),
        ("constraints", bool(settings.constraints)),
        ("measure", own_measure and measure not in (Mean(), problem.measure)),
    ):
        if doubled:
            raise TypeError(f"the problem {name!r} brings its own {what}; leave {what} out")
    brought = problem.settings
    if not own_measure:
        brought["measure"] = measure
    if settings.num_initial is not None:
        brought["num_initial"] = settings.num_initial
    settings = replace(settings, **brought)
    optimizer = Optimizer(problem.space, settings=settings)
    return _Task(
        _observed(problem, optimizer.seed),
        optimizer,
        problem.budget if budget is None else budget,
    )


def _observed(problem: Problem, seed: int) -> Objective:
    """f(x) + eps, with eps from a stream that belongs to the seed; other outcomes likewise."""
    random = np.random.default_rng([seed, 0])

    def observe(params: Design) -> float | dict[str, float]:
        values = problem.observed(params, random)
        return values if problem.outcomes else values["value"]

    return observe


def _run(
    task: _Task,
    progress: bool,
    callback: Callback | None,
    executor: Executor | MakeExecutor | None,
    workers: int | None,
) -> Result:
    f, optimizer, budget = task
    if not callable(f):
        raise TypeError(f"f must be a function of a dict of values, got {f!r}")
    budget = read_count("budget", budget)
    team = _team(f, optimizer.outcomes, executor, workers)
    try:
        interrupted, first_error = run_all(optimizer, team, budget, progress, callback)
        if optimizer.has_values:
            return _result(optimizer, interrupted)
    except BaseException as error:  # what was evaluated must not be lost with it
        error.add_note(
            f"{len(optimizer.history)} evaluations are kept in the `optimizer` attribute of this "
            "exception: error.optimizer.history"
        )
        error.optimizer = optimizer  # type: ignore[attr-defined]
        raise
    left = budget - len(optimizer.trials)
    raise EvaluationsFailed(optimizer.trials, left) from first_error


def _team(
    f: Objective,
    outcomes: Outcomes,
    executor: Executor | MakeExecutor | None,
    workers: int | None,
) -> Workers:
    if executor is not None:
        return Executors(executor, read_workers(executor, workers), f, outcomes)
    if workers is not None:
        raise TypeError(
            f"workers={workers!r} needs an executor that has them, such as "
            "executor=concurrent.futures.ThreadPoolExecutor(8); without one, f is evaluated here, "
            "one design after the other"
        )
    return Here(f, outcomes)


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
        outside=best.outside,
        kept=best.kept,
        sure=best.sure,
        feasible=best.feasible,
        interval=best.interval,
        scatter=best.scatter,
        nominal=optimizer.nominal(),
        history=optimizer.history,
        trials=optimizer.trials,
        optimizer=optimizer,
        interrupted=interrupted,
    )
