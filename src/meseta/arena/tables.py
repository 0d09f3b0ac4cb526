"""The tables of an arena in Markdown, which a terminal shows well, too."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from meseta.arena.entrants import BOARDS
from meseta.arena.plan import ArenaPlan
from meseta.arena.record import ArenaRecord
from meseta.arena.standings import Cell, by_board, cells, ranks, seldom_seen, too_few
from meseta.bench.markdown import markdown, scientific
from meseta.bench.pace import spoken
from meseta.bench.statistics import Rank
from meseta.problems import get


def board_tables(
    plan: ArenaPlan, records: Sequence[ArenaRecord], pictures: Mapping[str, list[str]]
) -> list[str]:
    """Each board: ranks, its pictures, and then every problem."""
    lines: list[str] = []
    of_boards = by_board(records)
    for board in BOARDS:
        names, mine = plan.on(board).problems, of_boards.get(board, [])
        if not mine:
            continue
        lines += [f"## Board: {board}", "", *rank_tables(mine), "", *pictures.get(board, [])]
        found = cells(mine)
        for name in names:
            if name in found:
                lines += [f"### {get(name).title} (`{name}`)", "", *_about(name, found[name])]
                lines += ["", *problem_table(found[name]), ""]
    return lines


def rank_tables(records: Sequence[ArenaRecord]) -> list[str]:
    """Those with many runs among themselves, and then all that have played on most problems."""
    few, seldom = too_few(records), seldom_seen(records)
    lines = rank_table(records, few)
    late = [name for name in few if name not in seldom]
    if late:
        has = "has" if len(late) == 1 else "have"
        lines += ["", f"With {', '.join(late)}, which {has} fewer runs:", ""]
        lines += rank_table(records, seldom)
    never = [name for name in few if name in seldom]
    if never:
        lines += ["", f"Too few runs to be ranked: {', '.join(never)}."]
    return lines


def rank_table(records: Sequence[ArenaRecord], without: Collection[str]) -> list[str]:
    """Mean ranks by both recommendations, seconds and failures, the best own rank first."""
    own, common = (
        {r.method: r for r in ranks(records, rule, without)} for rule in ("own", "common")
    )
    if not own:
        return ["No pair of problem and seed has been played by all entrants yet."]
    by_entrant: dict[str, list[ArenaRecord]] = {}
    for record in records:
        by_entrant.setdefault(record.job.entrant, []).append(record)
    rows = []
    for name, rank in own.items():
        runs = by_entrant[name]
        steps = [r.per_step for r in runs if r.per_step is not None]
        rows.append(
            [
                name,
                *(_rank(rank), _rank(common[name])),
                _seconds(median(steps) if steps else None),
                f"{sum(r.state == 'failed' for r in runs)} of {len(runs)}",
            ]
        )
    one = next(iter(own.values()))
    pairs = "1 pair" if one.cells == 1 else f"{one.cells} pairs"
    return [
        *markdown(["entrant", "rank, own", "rank, common rule", "s / step", "failed"], rows),
        "",
        "Mean rank by final regret, 1 is the lowest, all problems counting the same; over "
        f"{pairs} of a problem, of {one.problems}, and a seed that all of them have "
        "played. In brackets the 95 % interval over problems (Student's t); none where all ranks "
        "are the same, or where there is one problem.",
    ]


def problem_table(found: Sequence[Cell]) -> list[str]:
    """Median regrets, with their quartiles where there are several; the lowest own one first."""
    rows = [
        [
            cell.entrant,
            _regret(cell.own, cell.runs),
            _regret(cell.common, cell.runs),
            _seconds(cell.per_step),
            f"{cell.failures} of {cell.runs}",
        ]
        for cell in found
    ]
    return markdown(["entrant", "regret, own", "regret, common rule", "s / step", "failed"], rows)


def entrant_lines(plan: ArenaPlan) -> list[str]:
    """Who they are, where they play and with which settings."""
    return [
        f"- **{e.name}**: {e.title} ({', '.join(e.boards)}). {e.settings}."
        + (f" It does not play: {e.why_not}." if e.why_not else "")
        for e in plan.entrants
    ]


def cost_table(records: Sequence[ArenaRecord]) -> list[str]:
    """The seconds of each entrant in the whole campaign."""
    seconds, runs = dict[str, float](), Counter[str]()
    for record in records:
        name = record.job.entrant
        seconds[name] = seconds.get(name, 0.0) + record.duration
        runs[name] += 1
    dearest = sorted(seconds.items(), key=lambda item: -item[1])
    rows = [[name, str(runs[name]), spoken(each)] for name, each in dearest]
    rows.append(["all", str(runs.total()), spoken(sum(seconds.values()))])
    return markdown(["entrant", "runs", "time"], rows)


def failure_lines(records: Sequence[ArenaRecord]) -> list[str]:
    """Why runs failed, and where the common rule did."""
    reasons = Counter(
        (r.job.entrant, r.job.problem, r.reason) for r in records if r.state == "failed"
    )
    lines = [
        f"- {name} on {problem}, {count} x: {reason}"
        for (name, problem, reason), count in reasons.items()
    ]
    common = [f"- {r.job.entrant} on {r.job.problem}: {m}" for r in records for m in r.messages]
    return [*lines, *common] or ["No run failed."]


def _about(name: str, found: Sequence[Cell]) -> list[str]:
    problem = get(name)
    differs = f" It differs: {problem.differs}." if problem.differs else ""
    counts = sorted({cell.runs for cell in found})
    runs = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    parameters = "1 parameter" if problem.dimension == 1 else f"{problem.dimension} parameters"
    played = "1 run" if runs == "1" else f"{runs} runs"
    return [
        f"{problem.source}.{differs} {parameters}, {problem.direction}, {played} of each entrant."
    ]


def _rank(rank: Rank) -> str:
    if not rank.low < rank.high:
        return f"{rank.mean:.2f}"
    return f"{rank.mean:.2f} ({rank.low:.2f} to {rank.high:.2f})"


def _regret(quartiles: tuple[float, float, float], runs: int) -> str:
    low, middle, high = quartiles
    several = f" ({scientific(low, 0)} to {scientific(high, 0)})" if runs > 1 else ""
    return scientific(middle) + several


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2g}"
