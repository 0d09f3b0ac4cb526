"""The results page: everything a folder of records says, in Markdown."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from meseta.bench.campaign import progress
from meseta.bench.claims import claim_section
from meseta.bench.cost import cost_paragraph
from meseta.bench.job import plain_label
from meseta.bench.markdown import (
    comparison_table,
    cost_table,
    failure_table,
    own_page,
    rank_table,
    regret_tables,
    timing_table,
)
from meseta.bench.plan import Plan, kept_plans
from meseta.bench.records import RunRecord
from meseta.bench.timing import timings
from meseta.whole_file import write_whole

PAGE = "results.md"
HEAD = "# Results of `meseta bench`"  # by which a page is known for one


def check_page(folder: Path) -> Path:
    """The path of the page of a folder; refused where something else is there."""
    return own_page(folder / PAGE, HEAD, "results page of meseta")


def write_page(folder: Path) -> Path:
    """Write the page from the records and figures of the folder alone; returns its path."""
    path = check_page(folder)
    write_whole(path, "\n".join(page(folder)) + "\n")
    return path


def page(folder: Path) -> list[str]:
    lines = [HEAD, "", *claim_section(folder)]
    for plan in kept_plans(folder):
        lines += section(folder, plan)
    pictures = [p for name in ("schematic", "gallery") for p in _pictures(folder, name)]
    if pictures:
        lines += ["## Pictures", "", *pictures]
    return lines


def section(folder: Path, plan: Plan) -> list[str]:
    """The section of one experiment: what was done, the results, how to repeat it."""
    title = plan.of.title if plan.name == plan.experiment else f"{plan.of.title} ({plan.name})"
    head = [f"## {title}", "", f"{plan.of.shows}.", ""]
    if plan.of.kind == "timing":
        return [*head, *_timing_section(folder, plan)]
    now = progress(folder, plan)
    records = now.ended
    lines = [*head, *_pictures(folder, plan.name)]
    lines += [f"{len(now.complete)} of {now.planned} runs are complete.", ""]
    if now.complete:
        lines += summary(plan, records, level="###")
    if records:
        lines += ["### Failures and warnings", "", *failure_table(records), ""]
        lines += ["### Settings", "", *_settings(plan, records), ""]
    return [*lines, *_reproduce(plan)]


def summary(
    plan: Plan, records: Sequence[RunRecord], *, level: str = "##", reference: str | None = None
) -> list[str]:
    """The tables of an experiment."""
    usual = plan.of.reference if plan.of.reference in plan.methods else plan.methods[0]
    return [
        *(f"{level} Median inference regret", "", *regret_tables(plan, records), ""),
        *(f"{level} Mean rank", "", *rank_table(records), ""),
        f"{level} Which differences are real",
        *("", *comparison_table(records, reference or usual), ""),
        *(f"{level} Time per iteration in these runs", "", *cost_table(plan, records), ""),
        *(cost_paragraph(records), ""),
    ]


def tables(folder: Path, plan: Plan, reference: str | None = None) -> list[str]:
    """The tables of a plan, for the terminal."""
    head = [f"# {plan.of.title}: {plan.name}", ""]
    if plan.of.kind == "timing":
        return [*head, *_timing_section(folder, plan)]
    now = progress(folder, plan)
    if not now.complete:
        return [*head, "No run is complete yet.", ""]
    records = now.ended
    return [*head, *summary(plan, records, reference=reference), *failure_table(records), ""]


def command(plan: Plan) -> str:
    """The command that gives a plan."""
    usual, words = plan.of, ["meseta bench run", plan.experiment]
    # labels in a plan are without options that are the default
    if set(plan.methods) != {plain_label(label) for label in usual.methods}:
        words.append(f"--methods {','.join(plan.methods)}")
    if set(plan.problems) != set(usual.problems):
        words.append(f"--problems {','.join(plan.problems)}")
    if plan.runs != usual.runs:
        words.append(f"--runs {plan.runs}")
    if plan.prior:
        words.append(f"--prior {plan.prior}")
    if plan.evaluations:
        words.append(f"--evaluations {plan.evaluations}")
    return " ".join(words)


def _timing_section(folder: Path, plan: Plan) -> list[str]:
    found = timings(folder, plan)
    if not found:
        return ["Nothing is measured yet.", "", *_reproduce(plan)]
    software = Counter(_spoken(timing.versions) for timing in found)
    lines = [*timing_table(plan, found), "", *_software(software), ""]
    return [*lines, *_reproduce(plan)]


def _settings(plan: Plan, records: Sequence[RunRecord]) -> list[str]:
    lines = []
    for problem in plan.problems:
        mine = [r for r in records if r.job.problem == problem]
        if not mine:
            continue
        job, settings = mine[0].job, next((r.settings for r in mine if r.settings), {})
        lines.append(
            f"- {problem}: {job.evaluations} evaluations, {settings.get('num_initial')} of them "
            f"initial (uniform, the same for all methods), prior {job.prior!r}, input noise "
            f"{settings.get('input_noise')}, observation noise variance "
            f"{settings.get('noise_variance')}"
        )
    return [*lines, *_software(Counter(_spoken(r.versions) for r in records))]


def _software(counts: Counter[str]) -> list[str]:
    return [f"- {count} records by {software}" for software, count in counts.most_common()]


def _spoken(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items()) or "unknown software"


def _pictures(folder: Path, name: str) -> list[str]:
    """Figures of that name, as links relative to the page."""
    found = sorted((folder / "figures").glob(f"{name}.png"))
    found += sorted((folder / "figures").glob(f"{name}-*.png"))
    lines = []
    for path in found:
        lines += [f"![{path.stem}](figures/{path.name})", ""]
    return lines


def _reproduce(plan: Plan) -> list[str]:
    return ["```sh", command(plan), "```", ""]
