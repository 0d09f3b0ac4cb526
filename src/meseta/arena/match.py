"""One run: an entrant on a problem, by the rules."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meseta.arena.allowed import allowed
from meseta.arena.common_rule import common_rule
from meseta.arena.entrants import code_of, interpreter, read_entrant
from meseta.arena.guest import MEMORY, EntrantError, Guest
from meseta.arena.posed import posed
from meseta.arena.record import PARTS, RULES, ArenaRecord, Entry, checkpoints
from meseta.bench.one_run import stream
from meseta.problems import Problem, get
from meseta.space.parameter import Categorical, Parameter
from meseta.space.space import Space

RUN_SECONDS = 1200.0


@dataclass(frozen=True)
class Rules:
    """Where the entrants are, and how much time and memory they may take."""

    folder: Path
    run_seconds: float = RUN_SECONDS
    step_seconds: float = RUN_SECONDS
    memory: float = MEMORY  # bytes

    def play(self, job: Entry) -> ArenaRecord:
        """The run of a job; one that breaks off is recorded as failed, with what it had."""
        torch.set_num_threads(1)
        problem = get(job.problem)
        trace = Trace(problem, job)
        error = None
        try:
            self._steps(trace)
        except EntrantError as failure:
            error = str(failure)
        return trace.record(error)

    def _steps(self, trace: "Trace") -> None:
        job, problem = trace.job, trace.problem
        file = self.folder.absolute() / f"{job.entrant}.py"
        try:
            entrant, trace.code = read_entrant(file), code_of(file)
        except (ValueError, OSError) as error:  # somebody has changed it since the start
            raise EntrantError(str(error)) from error
        python = interpreter(self.folder, entrant)
        with Guest(python, file, self.run_seconds, self.step_seconds, self.memory) as guest:
            task = posed(problem, job.seed, job.evaluations)
            entered = trace.called(guest, "enter", task=task)
            trace.versions, trace.by_common_rule = entered["versions"], entered["by_common_rule"]
            for params in initial_design(problem, job.seed):
                trace.evaluate(guest, params)
            trace.recommendations(guest)
            while len(trace.x) < job.evaluations:
                answer = trace.called(guest, "ask")
                trace.evaluate(guest, allowed(trace.space, trace.space.names, answer, "ask"))
                if len(trace.x) in trace.checkpoints:
                    trace.recommendations(guest)


@dataclass
class Trace:
    """The data of a run on its way."""

    problem: Problem
    job: Entry
    x: list[dict[str, Any]] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)
    recommended: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {rule: [] for rule in RULES}
    )
    seconds: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    messages: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    code: str = ""
    by_common_rule: bool = False  # the entrant says that this is how it recommends

    def __post_init__(self) -> None:
        self.space = Space(self.problem.space)
        self.checkpoints = checkpoints(self.problem.num_initial, self.job.evaluations)
        self._eps = stream(self.problem.name, self.job.seed, "observation noise")

    def called(self, guest: Guest, do: str, **arguments: Any) -> Any:
        result, seconds = guest.call(do, **arguments)
        self.seconds[do].append(seconds)
        return result

    def evaluate(self, guest: Guest, params: dict[str, Any]) -> None:
        """Observe all outcomes of an experiment, with noise, and tell them."""
        told = self.problem.observed(params, self._eps)
        self.x.append(params)
        self.values.append(told)
        self.called(guest, "tell", params=params, values=told)

    def recommendations(self, guest: Guest) -> None:
        """Both recommendations by what was told so far.

        One that recommends by the common rule is taken at its word, and checked at the end: both
        cost as much as the experiments.
        """
        last = len(self.x) == self.job.evaluations
        common = None if self.by_common_rule and not last else self._by_common_rule()
        if common is not None:
            self.recommended["common"].append(common)
        answer = self.called(guest, "recommend")
        own = allowed(self.space, self.problem.names, answer, "recommend")
        self.recommended["own"].append(own)
        if common is None:
            self.recommended["common"].append(own)
        elif self.by_common_rule and own != common:
            raise EntrantError(
                f"it says by_common_rule, but recommends {own}, where the common rule recommends "
                f"{common}; leave by_common_rule out"
            )

    def _by_common_rule(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return common_rule(self.problem, self.x, self.values, self.job.seed)
            except Exception as failure:  # no fault of the entrant: its best experiment counts
                at = len(self.x)
                self.messages.append(f"the common rule failed after {at} evaluations: {failure!r}")
                best = max(range(at), key=lambda i: self.problem.sign * self.values[i]["value"])
                return {name: self.x[best][name] for name in self.problem.names}

    def record(self, error: str | None) -> ArenaRecord:
        regrets = {rule: self._regrets(self.recommended[rule]) for rule in RULES}
        return ArenaRecord(
            job=self.job,
            state="complete" if error is None else "failed",
            checkpoints=self.checkpoints,
            worst=self.problem.worst_regret,
            own=regrets["own"],
            common=regrets["common"],
            x=self.x,
            values=self.values,
            recommended=self.recommended,
            seconds={part: np.array(each) for part, each in self.seconds.items()},
            messages=tuple(self.messages),
            error=error,
            versions=self.versions,
            code=self.code,
        )

    def _regrets(self, designs: list[dict[str, Any]]) -> np.ndarray:
        if not designs:
            return np.empty(0)
        return self.problem.regret([self.problem.row(each) for each in designs])


def initial_design(problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Uniform experiments, the same for all entrants, and the same as `meseta bench` has."""
    space = Space(problem.space)
    unit = stream(problem.name, seed, "initial design").uniform(
        size=(problem.num_initial, space.dimension)
    )
    return [
        {
            name: _at(parameter, float(u))
            for (name, parameter), u in zip(space.items(), row, strict=True)
        }
        for row in unit
    ]


def _at(parameter: Parameter, u: float) -> Any:
    """The value at a share u of the range."""
    if isinstance(parameter, Categorical):
        return parameter.choices[int(u * parameter.count)]
    if parameter.step is not None:
        assert parameter.count is not None
        return parameter.from_columns([parameter.low + int(u * parameter.count) * parameter.step])
    ((low, high),) = parameter.ends
    return parameter.from_columns([low + (high - low) * u])
