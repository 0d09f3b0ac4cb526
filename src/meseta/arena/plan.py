"""The plan of an arena: who plays on which problems, and how often."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from meseta.arena.entrants import BOARDS, Entrant, code_of
from meseta.arena.record import ArenaRecord, Entry
from meseta.bench.records import read_runs
from meseta.boundary import unknown
from meseta.problems import get
from meseta.problems import names as problem_names
from meseta.whole_file import write_whole


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
    different = [each.stem for each in _paths(folder) if each != path]
    if different:
        raise ValueError(
            f"{folder} has runs with another number of evaluations ({', '.join(different)}), which "
            "cannot be compared with these; name another folder by --output"
        )
    if path.exists():
        before = _read(path)
        known = {entrant.name: entrant for entrant in before.entrants}
        now = {e.name: _going_on(known.get(e.name), e) for e in plan.entrants}
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
    write_whole(path, json.dumps(asdict(plan), indent=1) + "\n")
    return plan


def _going_on(before: Entrant | None, now: Entrant) -> Entrant:
    """An entrant that has played stays in, whatever this machine lacks; so do its boards."""
    if before is None:
        return now
    boards = tuple(each for each in BOARDS if each in before.boards or each in now.boards)
    return replace(now, boards=boards, why_not=now.why_not if before.why_not else "")


def changed_since(folder: Path, plan: ArenaPlan, entrants: Path) -> list[str]:
    """A line for each entrant of which some runs were played by another text of its file."""
    lines = []
    for entrant in plan.entrants:
        now = code_of(entrants / f"{entrant.name}.py")
        before = [
            record.code
            for problem in plan.problems
            for record in read_runs(folder, problem, entrant.name, plan.read).values()
        ]
        other = sum(code not in ("", now) for code in before)
        if other:
            lines.append(
                f"{entrant.name} has changed since {other} of its runs, which are not repeated; to "
                f"play them anew, delete runs/*/{entrant.name}.jsonl* in {folder}"
            )
    return lines


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / "plans").glob("arena*.json"))


def kept_plan(folder: Path) -> ArenaPlan:
    """The plan of a folder."""
    paths = _paths(folder)
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
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        entrants = tuple(
            Entrant(**{**each, "boards": tuple(each["boards"])}) for each in values["entrants"]
        )
        plan = ArenaPlan(tuple(values["problems"]), entrants, values["runs"], values["evaluations"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is no plan of an arena ({error!r}); put back a copy, or delete it: the same "
            "`meseta arena run` makes it anew, and keeps the runs"
        ) from error
    gone = [name for name in plan.problems if name not in problem_names()]
    if gone:
        raise ValueError(f"{path} has problems that this version does not: {', '.join(gone)}")
    return plan
