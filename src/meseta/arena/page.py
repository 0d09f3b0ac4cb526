"""The page of an arena: where we lose, then everything that the records say."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from meseta.arena.entrants import BOARDS
from meseta.arena.plan import ArenaPlan
from meseta.arena.record import ArenaRecord, Entry
from meseta.arena.standings import OURS, Loss, cells, comparisons, defeats
from meseta.arena.tables import board_tables, cost_table, entrant_lines, failure_lines
from meseta.bench.campaign import Progress
from meseta.bench.markdown import markdown, own_page, scientific
from meseta.bench.statistics import fewest_pairs
from meseta.problems import names as problem_names
from meseta.whole_file import write_whole

PAGE, REASONS, ENTER = "README.md", "reasons.md", "enter.md"
HEAD = "# The arena"  # by which a page is known for one
FURTHEST = 5  # defeats whose reasons are given
FIGURES = {
    "evaluations": "Regret over evaluations, by own recommendations",
    "evaluations-common": "Regret over evaluations, by the common rule",
    "seconds": "Regret over seconds of the processor, by own recommendations",
}
RULES = """\
Entrants are files with `ask`, `tell` and `recommend`: {enter}. All of them start
from the same experiments, by problem and seed, have the same number of evaluations and the same
noise of the observations, and one thread. The regret is exact, to the digits that the list of
problems gives: the distance of the robust value of the recommended design to the best there is, and
the largest there can be where a design does not keep the constraints. Each run has two regrets: by
the entrant's own recommendation, and by one common rule, what our model recommends by the same
data. Seconds are those of the processor that the entrant used, its own recommendations included. A
run that fails or takes too long counts: it keeps its last recommendation."""


def write_page(folder: Path, plan: ArenaPlan, now: Progress[Entry, ArenaRecord]) -> Path:
    """Write the page from the records, figures and reasons of the folder; returns its path."""
    path = check_page(folder)
    write_whole(path, "\n".join(page(folder, plan, now)) + "\n")
    return path


def check_page(folder: Path) -> Path:
    """The path of the page of a folder; refused where something else is there."""
    return own_page(folder / PAGE, HEAD, "page of the arena")


def check_page_of(folder: Path, records: Sequence[ArenaRecord]) -> None:
    """Refuse what the page would refuse, before anything is drawn."""
    check_reasons(folder, defeats(records)[0][:FURTHEST])


def page(folder: Path, plan: ArenaPlan, now: Progress[Entry, ArenaRecord]) -> list[str]:
    records = now.ended
    here = (folder / ENTER).exists()
    enter = f"[how to enter]({ENTER})" if here else "`docs/arena/enter.md` says how to enter"
    if not records:
        raise ValueError(f"no run in {folder} has ended yet; `meseta arena run` does them")
    return [
        *(HEAD, "", "## Where Meseta loses", "", *_losses(folder, records), ""),
        *("## The rules", "", RULES.format(enter=enter), ""),
        f"{len(records)} of {now.planned} planned runs are done, {len(now.failed)} of them failed."
        f"{_few(plan, records)}",
        "",
        *_remarks(folder),
        *board_tables(plan, records, {board: _pictures(folder, board) for board in BOARDS}),
        *("## The entrants", "", *entrant_lines(plan), ""),
        *("## What it cost", "", *cost_table(records), ""),
        *("## Failures", "", *failure_lines(records), ""),
        *("## Software", "", *_software(records), ""),
        *("```sh", command(plan), "```"),
    ]


def _few(plan: ArenaPlan, records: Sequence[ArenaRecord]) -> str:
    """A warning where there are too few problems or runs to say anything."""
    number, tests = len(plan.problems), len(comparisons(records))
    needed = fewest_pairs(tests)
    words = ""
    if number < len(problem_names()):
        words += f" They are on {number} of {len(problem_names())} problems."
    found = cells(records)
    short = []
    for board in BOARDS:
        here = [cell for name in plan.on(board).problems for cell in found.get(name, [])]
        all_of_them = sorted({cell.entrant for cell in here})
        few = sorted({cell.entrant for cell in here if cell.runs < needed})
        if few:
            who = "all" if few == all_of_them else ", ".join(few)
            short.append(f"{who} on the board {board}")
    if short:
        words += (
            f" The test on pairs is corrected for all {tests} comparisons, so that with "
            f"fewer than {needed} runs it can show no difference on a problem, and none is claimed "
            f"there: {'; '.join(short)}."
        )
    return words


def _remarks(folder: Path) -> list[str]:
    """What stands before the first reason: how the runs were done."""
    path = folder / REASONS
    text = path.read_text(encoding="utf-8").partition("## ")[0].strip() if path.exists() else ""
    return [text, ""] if text else []


def read_reasons(path: Path) -> dict[str, str]:
    """The reasons by problem: the text below each heading `## problem`."""
    if not path.exists():
        return {}
    reasons: dict[str, str] = {}
    name = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            name = line[3:].strip().strip("`")
            reasons[name] = ""
        elif name is not None:
            reasons[name] += line + "\n"
    return {name: text.strip() for name, text in reasons.items()}


def check_reasons(folder: Path, furthest: Sequence[Loss]) -> dict[str, str]:
    """The reasons of these defeats; refused if the file has others, or lacks some."""
    path = folder / REASONS
    reasons, names = read_reasons(path), [loss.problem for loss in furthest]
    lacking = [name for name in names if not reasons.get(name)]
    others = [name for name in reasons if name not in names]
    if reasons and (lacking or others):
        raise ValueError(
            f"{path} must give the reasons of exactly the greatest defeats: it lacks "
            f"{', '.join(lacking) or 'none'}, and has {', '.join(others) or 'none'} too many; "
            "write a heading `## problem` and the reason below it"
        )
    return reasons


def _losses(folder: Path, records: Sequence[ArenaRecord]) -> list[str]:
    if not any(record.job.entrant == OURS for record in records):
        return [f"`{OURS}` has not played yet."]
    met = {comparison.problem for comparison in comparisons(records)}
    if not met:
        return [f"`{OURS}` has not met another entrant yet."]
    found, luck = defeats(records)
    reasons = check_reasons(folder, found[:FURTHEST])
    lines = [f"On none of {len(met)} problems does another end lower than `{OURS}`."]
    if found:
        lines = [
            f"On {len(found)} of {len(met)} problems another entrant ends with a lower regret than "
            f"`{OURS}`, our default method, in the median over pairs of runs with the same seed, "
            "each by its own recommendation:",
            "",
            *markdown(
                [
                    *("problem", "rival", "times as low", "lower in", "shown"),
                    *("our median", "their median"),
                ],
                list(map(_row, found)),
            ),
            "",
            "Of several rivals on a problem the one whose difference is surest. Times as low: the "
            "median over pairs of runs; the medians of either's runs, on the right, can differ the "
            "other way. Shown: whether a Wilcoxon test on pairs, corrected for all pairs of a "
            "rival and a problem (Holm), finds the difference.",
        ]
    lines += _listed("Of those with few runs, these end lower", luck)
    lines += _listed(
        "By the common rule, our recommendation after their experiments, these end lower, too",
        defeats(records, "common")[0],
    )
    if found and not reasons:
        return [*lines, "", "The reasons are not written yet."]
    for loss in found[:FURTHEST]:
        lines += ["", f"**{loss.problem}.** {reasons[loss.problem]}"]
    return lines


def _listed(what: str, found: Sequence[Loss]) -> list[str]:
    each = [
        f"{loss.first} on `{loss.problem}` ({_lower(loss)}, {loss.times:.2g} times as low)"
        for loss in found
    ]
    return ["", f"{what}: {', '.join(each)}."] if each else []


def _row(loss: Loss) -> list[str]:
    return [
        *(f"`{loss.problem}`", loss.first, f"{loss.times:.2g}", _lower(loss)),
        "yes" if loss.by.better == loss.first else "no",
        *map(scientific, (loss.ours, loss.theirs)),
    ]


def _lower(loss: Loss) -> str:
    runs = "run" if loss.by.pairs == 1 else "runs"
    return f"{loss.by.losses} of {loss.by.pairs} {runs}"


def _pictures(folder: Path, board: str) -> list[str]:
    """The figures of a board that are there."""
    lines: list[str] = []
    for what, caption in FIGURES.items():
        path = folder / "figures" / f"{board}-{what}.svg"
        if path.exists():
            lines += [f"{caption}: medians over runs, and quartiles.", ""]
            lines += [f"![{caption}](figures/{path.name})", ""]
    return lines


def _software(records: Sequence[ArenaRecord]) -> list[str]:
    counts = Counter(
        (r.job.entrant, ", ".join(f"{k} {v}" for k, v in r.versions.items())) for r in records
    )
    return [
        f"- {name}, {count} {'run' if count == 1 else 'runs'}: {versions or 'unknown'}"
        for (name, versions), count in sorted(counts.items())
    ]


def command(plan: ArenaPlan) -> str:
    """The command that gives a plan."""
    more = f" --evaluations {plan.evaluations}" if plan.evaluations else ""
    entrants = ",".join(e.name for e in plan.entrants)
    return (
        f"meseta arena run --entrants {entrants} --problems {','.join(plan.problems)} "
        f"--runs {plan.runs}{more}"
    )
