"""A run in the arena as it is stored."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from meseta.bench.records import DIGITS, rounded

Rule = Literal["own", "common"]
RULES: tuple[Rule, ...] = ("own", "common")
PARTS = ("enter", "ask", "tell", "recommend")  # what an entrant's seconds go to


@dataclass(frozen=True)
class Entry:
    """One entrant on one problem with one seed."""

    problem: str
    entrant: str
    seed: int
    evaluations: int

    @property
    def label(self) -> str:
        return self.entrant


@dataclass(frozen=True, eq=False)
class ArenaRecord:
    """A run and its regrets after each of its checkpoints, by both recommendations.

    Those of a failed run end early: see `regrets`.
    """

    job: Entry
    state: Literal["complete", "failed"]
    checkpoints: tuple[int, ...]  # numbers of evaluations
    worst: float  # the largest regret there can be
    own: Float64[np.ndarray, " m"]
    common: Float64[np.ndarray, " m"]
    x: list[dict[str, Any]] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)
    recommended: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by rule
    seconds: dict[str, Float64[np.ndarray, "..."]] = field(default_factory=dict)
    messages: tuple[str, ...] = ()  # where the common rule failed
    error: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    code: str = ""  # of the file that played; empty: not known

    @property
    def regret(self) -> Float64[np.ndarray, " m"]:
        return self.regrets("own")

    def regrets(self, rule: Rule) -> Float64[np.ndarray, " m"]:
        """One for each checkpoint: a failed run keeps its last one, or the worst there can be."""
        found = self.own if rule == "own" else self.common
        last = found[-1] if len(found) else self.worst
        return np.concatenate([found, np.full(len(self.checkpoints) - len(found), last)])

    @property
    def duration(self) -> float:
        return float(sum(part.sum() for part in self.seconds.values()))

    @property
    def asked(self) -> int:
        """The evaluations that the entrant chose."""
        return len(self.seconds.get("ask", ()))

    @property
    def per_step(self) -> float | None:
        """Seconds of the entrant for each evaluation that it chose; None: it chose none."""
        return self.duration / self.asked if self.asked else None

    def elapsed(self) -> Float64[np.ndarray, " m"]:
        """Seconds of the entrant until each recommendation that it gave, others left out."""
        seconds = [self.seconds.get(part, np.empty(0)) for part in PARTS]
        enter, ask, tell, recommend = seconds
        initial = self.checkpoints[0]
        return np.array(
            [
                enter.sum() + ask[: max(0, n - initial)].sum() + tell[:n].sum() + recommend[i]
                for i, n in enumerate(self.checkpoints[: len(self.own)])
            ]
        )

    @property
    def reason(self) -> str:
        """The reason of the failure: the last line of what was said."""
        return (self.error or "").strip().rpartition("\n")[2]

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self.job),
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("job",)},
            "own": rounded(self.own),
            "common": rounded(self.common),
            "x": [_short(each) for each in self.x],
            "values": [_short(each) for each in self.values],
            "recommended": {
                rule: [_short(each) for each in found] for rule, found in self.recommended.items()
            },
            "seconds": {part: rounded(values, 4) for part, values in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, line: dict[str, Any]) -> "ArenaRecord":
        job = Entry(**{each.name: line[each.name] for each in fields(Entry)})
        known: dict[str, Any] = {
            each.name: line[each.name] for each in fields(cls) if each.name not in ("job", "code")
        }
        known["code"] = line.get("code", "")  # records of before have none
        known |= {name: np.asarray(line[name], dtype=np.float64) for name in RULES}
        seconds = {part: np.asarray(v, dtype=np.float64) for part, v in line["seconds"].items()}
        tuples = {name: tuple(line[name]) for name in ("checkpoints", "messages")}
        told: dict[str, Any] = {
            **known,
            **tuples,
            "seconds": seconds,
            "worst": float(line["worst"]),
        }
        record = cls(job=job, **told)
        if any(
            r.ndim != 1 or len(r) > len(record.checkpoints) for r in (record.own, record.common)
        ):
            raise ValueError("it has more regrets than checkpoints")
        return record


def lost(job: Entry, error: str) -> ArenaRecord:
    """The record of a run that left nothing but the reason."""
    from meseta.problems import get

    problem = get(job.problem)
    counts = checkpoints(problem.num_initial, job.evaluations)
    none = np.empty(0)
    return ArenaRecord(job, "failed", counts, problem.worst_regret, none, none, error=error)


def checkpoints(initial: int, evaluations: int, number: int = 8) -> tuple[int, ...]:
    """After the initial design, and then evenly up to the last evaluation."""
    steps = np.linspace(initial, evaluations, min(number, evaluations - initial) + 1)
    return tuple(dict.fromkeys(np.rint(steps).astype(int).tolist()))


def _short(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        for name, value in params.items()
    }
