"""The plan of an arena: who plays on which problems, and how often."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from meseta.arena.entrants import BOARDS, Entrant
from meseta.arena.record import ArenaRecord, Entry
from meseta.boundary import unknown
from meseta.problems import get
from meseta.problems import names as problem_names


@dataclass(frozen=True)
class ArenaPlan:
    """The runs of an arena; `evaluations` None: as many as each problem asks for."""

    problems: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    runs: int
    evaluations: int | None = None

    @property
    def name(self) -> str:
        return "arena" if self.evaluations is None else f"arena,evaluations={self.evaluations}"

    def jobs(self) -> list[Entry]:
        """All entrants and problems with the first seed, then with the second, and so on.

        So a campaign that ends early still compares like with like.
        """
        known = {name: get(name) for name in self.problems}
        return [
            Entry(name, entrant.name, seed, self.evaluations or problem.budget)
            for seed in range(self.runs)
            for name, problem in known.items()
            for entrant in self.entrants
            if problem.board in entrant.boards and not entrant.why_not
        ]

    def read(self, line: dict[str, Any]) -> ArenaRecord:
        return ArenaRecord.from_json(line)

    def on(self, board: str) -> "ArenaPlan":
        """The part of it on one board."""
        return replace(
            self, problems=tuple(name for name in self.problems if get(name).board == board)
        )


def make_plan(
    entrants: dict[str, Entrant],
    *,
    problems: tuple[str, ...] = (),
    board: str | None = None,
    runs: int = 10,
    evaluations: int | None = None,
) -> ArenaPlan:
    """A plan; refuses choices that make no sense."""
    if board is not None and board not in BOARDS:
        raise ValueError(unknown("board", board, BOARDS))
    chosen = tuple(dict.fromkeys(problems or problem_names()))
    for name in chosen:
        if name not in problem_names():
            raise ValueError(unknown("problem", name, problem_names()))
        problem = get(name)
        if evaluations is not None and evaluations < problem.num_initial:
            raise ValueError(
                f"runs on {name!r} start with {problem.num_initial} points, so they need at least "
                f"as many evaluations, got {evaluations}"
            )
    plan = ArenaPlan(chosen, tuple(entrants.values()), runs, evaluations)
    plan = plan if board is None else plan.on(board)
    if not plan.jobs():
        raise ValueError("none of these entrants plays on any of these problems")
    return plan


def keep_plan(folder: Path, plan: ArenaPlan) -> ArenaPlan:
    """Add a plan to that of a folder; what was planned before stays so."""
    path = folder / "plans" / f"{plan.name}.json"
    if path.exists():
        before = _read(path)
        now = {entrant.name: entrant for entrant in plan.entrants}
        others = [entrant for entrant in before.entrants if entrant.name not in now]
        plan = replace(
            plan,
            problems=tuple(
                name for name in problem_names() if name in before.problems or name in plan.problems
            ),
            entrants=tuple(sorted([*others, *now.values()], key=lambda each: each.name)),
            runs=max(before.runs, plan.runs),
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(asdict(plan), indent=1) + "\n", encoding="utf-8")
    os.replace(unfinished, path)
    return plan


def kept_plan(folder: Path) -> ArenaPlan:
    """The plan of a folder."""
    paths = sorted((folder / "plans").glob("arena*.json"))
    if not paths:
        raise ValueError(
            f"{folder} has no runs of the arena; start with `meseta arena run`, or name another "
            "folder by --output"
        )
    if len(paths) > 1:
        raise ValueError(
            f"{folder} has runs with other numbers of evaluations, which cannot be compared: "
            f"{', '.join(path.stem for path in paths)}; keep them in folders of their own"
        )
    return _read(paths[0])


def _read(path: Path) -> ArenaPlan:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    entrants = tuple(
        Entrant(**{**each, "boards": tuple(each["boards"])}) for each in values["entrants"]
    )
    return ArenaPlan(tuple(values["problems"]), entrants, values["runs"], values["evaluations"])
