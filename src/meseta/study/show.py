"""Studies as tables for people, and as plain data for programs."""

import io
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from meseta.integrations.optuna.attributes import (
    ERROR,
    EXECUTION,
    amendments_of,
    executed_of,
    outcomes_of,
    precision_of,
    stds_of,
)
from meseta.integrations.optuna.changed import changes_of
from meseta.optimizer.amendment import Amendment
from meseta.optimizer.outcomes import VALUE
from meseta.optimizer.precision import COUNT
from meseta.optimizer.record import Kept, Trial
from meseta.optimizer.repeats import Experiment, untold
from meseta.study.headers import Column, headings
from meseta.study.ledger import Ledger
from meseta.study.marks import CONFIRMS
from meseta.study.progress import Progress, is_run, kind_of
from meseta.study.quality import quality_cell, told_columns
from meseta.study.spreadsheet import TRIAL, Cells
from meseta.study.tables import study_columns
from meseta.study.terminal import one_line
from meseta.study.toml.file import StudyFile

WIDTH = 80  # columns of a file or a pipe
LONGEST = 9  # letters of a number that is shown with all its digits
MARK = "*"  # at trials of which something was said later


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The columns side by side; one block for each row where the terminal is too narrow.

    Nothing is wrapped or cut off, in a terminal, a file or a pipe.
    """
    if _fits(header, rows):
        return _plain(_grid("right", _texts(header, rows)))
    names, *cells = _texts(header, rows)
    blocks = [_grid("left", list(zip(names, row, strict=True))) for row in cells]
    return "\n".join(map(_plain, blocks))


def _fits(header: Sequence[str], rows: Sequence[Sequence[object]]) -> bool:
    """Whether the terminal is wide enough for the columns side by side."""
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    return _width(_grid("right", _texts(header, rows))) <= terminal


def _texts(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[list[Text]]:
    return [[_cell(value) for value in row] for row in (header, *rows)]


def _cell(value: object) -> Text:
    return Text("" if value is None else in_a_line(value))


def in_a_line(value: object) -> str:
    """A value for people."""
    if isinstance(value, float):
        exact = _exact(value)
        return exact if len(exact) <= LONGEST else f"{value:.6g}"
    return one_line(str(value))


def _grid(justify: Any, rows: Sequence[Sequence[Text]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in rows[0]:
        grid.add_column(justify=justify, no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    return grid


def _width(grid: Table) -> int:
    console = _console(io.StringIO(), 10**6)
    return Measurement.get(console, console.options, grid).maximum


def _plain(grid: Table) -> str:
    text = io.StringIO()
    _console(text, _width(grid)).print(grid)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def _console(text: io.StringIO, width: int) -> Console:
    """A page of plain text of that width, whatever terminal or notebook there is."""
    return Console(
        file=text, width=width, color_system=None, legacy_windows=False, force_jupyter=False
    )


def trial_table(file: StudyFile, rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of `trial_data` as a table.

    Columns on how good values are would break a table that is just narrow enough: a line below it
    says then where they are.
    """
    if not rows:
        return ""
    names = list(file.parameters)
    others = file.outcomes.names
    header = ["trial", "state", *(_headed(file, name) for name in names), "value", *others]
    cells = [
        [
            f"{row['trial']} {MARK}" if row["amendments"] else row["trial"],
            row["state"],
            *map(row["params"].get, names),
            row["value"],
            *map(row["outcomes"].get, others),
        ]
        for row in rows
    ]
    quality = told_columns(file, rows)
    whole = [
        [*each, *(quality_cell(row, name) for name in quality)]
        for each, row in zip(cells, rows, strict=True)
    ]
    if quality and _fits(header, cells) and not _fits([*header, *quality], whole):
        left_out = f"not shown: {', '.join(quality)}; `meseta status {file.label} --csv` has them"
        return f"{table(header, cells)}{left_out}\n"
    return table([*header, *quality], whole)


def planned_table(file: StudyFile, planned: Sequence[Trial]) -> str:
    """The designs to carry out, as a table with all their digits."""
    header = ["trial", *(_headed(file, name) for name in planned[0].params)]
    rows = [
        [each.number, *(_exact(x) if isinstance(x, float) else x for x in each.params.values())]
        for each in planned
    ]
    return table(header, rows)


def planned_cells(file: StudyFile, planned: Sequence[Trial]) -> Cells:
    """The designs with empty cells to fill in, which `meseta tell` takes."""
    settings = [*planned[0].params, *file.observed]
    results = (file.outcomes.objective, *file.outcomes.names)
    known = {column.name: column for column in study_columns(file, file.ranges())}
    blank = [None] * (len(file.observed) + len(results))
    return Cells(
        headings([known[name] for name in (TRIAL, *settings, *results)]),
        [[each.number, *each.params.values(), *blank] for each in planned],
    )


def _exact(value: float) -> str:
    """A number with all its digits."""
    return repr(value).removesuffix(".0")


def _headed(file: StudyFile, name: str) -> str:
    return Column(name, unit=file.parameters[name].unit).heading


def planned_data(planned: Sequence[Trial]) -> list[dict[str, Any]]:
    """The designs for programs."""
    return [{"trial": each.number, "params": each.params} for each in planned]


def trial_data(trials: Sequence[FrozenTrial], file: StudyFile) -> list[dict[str, Any]]:
    """Every trial that counts, or did, with the values that were carried out."""
    return [
        {
            "trial": trial.number,
            "state": kind_of(trial),
            "params": _carried_out(trial, file),
            "value": trial.value if trial.state.is_finished() else None,
            "outcomes": outcomes_of(trial),
            **_quality(trial),
            "error": trial.user_attrs.get(ERROR) or None,
            "amendments": [amendment_data(each) for each in amendments_of(trial)],
        }
        for trial in trials
        if _is_listed(trial)
    ]


def _is_listed(trial: FrozenTrial) -> bool:
    """Whether it counts; what is pending does so without a design, too."""
    kind = kind_of(trial)
    return kind in ("asked", "running") or (
        kind not in ("void", "abandoned") and bool(trial.params)
    )


def _quality(trial: FrozenTrial) -> dict[str, Any]:
    """How good its values are, as far as it says so."""
    said = precision_of(trial)
    return {
        "std": stds_of(trial),
        "n": said.get(COUNT, 1),
        "executed": trial.user_attrs.get(EXECUTION),
    }


def amendment_data(amendment: Amendment) -> dict[str, Any]:
    """An amendment for programs."""
    before = amendment.before
    withdrawn = before is not None and amendment.what == "withdraw"
    return {
        "what": amendment.what,
        "why": amendment.why,
        "who": amendment.who or None,
        "when": amendment.when or None,
        "changes": [each._asdict() for each in amendment.changes],
        **({"value": before.value} if withdrawn and before is not None else {}),
        "text": str(amendment),
    }


def amendment_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was said later of the trials in the rows of `trial_data`, a line each."""
    return [
        f"{MARK} trial {row['trial']}: {one_line(each['text'])}"
        for row in rows
        for each in row["amendments"]
    ]


def confirming_lines(trials: Sequence[FrozenTrial]) -> list[str]:
    """Which trials are runs that confirm a design, in a line; empty: there are none."""
    numbers = [str(trial.number) for trial in trials if is_run(trial)]
    return [f"runs to confirm a design, beside the budget: {', '.join(numbers)}"] * bool(numbers)


def change_data(study: Study) -> list[dict[str, Any]]:
    """The changes of the parameters, for programs."""
    return [
        {"who": each.who, "when": each.when, "trials": each.trials, "changes": list(each.words)}
        for each in changes_of(study)
    ]


def change_lines(study: Study) -> list[str]:
    """The changes of the parameters, a line each."""
    return [f"changed: {one_line(str(each))}" for each in changes_of(study)]


def _carried_out(trial: FrozenTrial, file: StudyFile) -> dict[str, Any]:
    """The values by name, in the order of the file, then others that the trial has.

    Of a run that confirms a design: where it is set, which may lie beyond the ranges.
    """
    observed = file.observed
    order = [name for name in file.parameters if name in trial.params]
    order += [name for name in trial.params if name not in order]
    params = {name: trial.params[name] for name in order if name not in observed}
    place = trial.user_attrs.get(CONFIRMS, {}).get("place", {})
    return {**params, **place, **executed_of(trial)}


def progress_line(file: StudyFile, now: Progress) -> str:
    """The progress of the study in a line."""
    done = now.complete + now.failed
    parts = [f"{done} done" if now.budget is None else f"{done} of {now.budget} done"]
    parts += [
        f"{count} {what}"
        for count, what in (
            (now.failed, "failed"),
            (now.running, "running"),
            (now.asked, "pending"),
            (now.abandoned, "whose worker is gone"),
            (now.withdrawn, "withdrawn"),
            (now.confirming, "runs to confirm"),
        )
        if count
    ]
    return f"{one_line(file.name)}: {file.direction}, {', '.join(parts)}"


def untold_scatter(ledger: Ledger, trials: Sequence[FrozenTrial]) -> str:
    """That scatter and structure cannot be told apart, where it is so; otherwise nothing."""
    carried_out = [
        Experiment({**trial.params, **executed_of(trial)}, VALUE in stds_of(trial))
        for trial in trials
        if kind_of(trial) == "complete"
    ]
    known = [each for each in carried_out if each.params.keys() >= ledger.parameters.keys()]
    return untold(ledger.parameters, known, ledger.file.chosen.noise_variance)


def progress_data(now: Progress) -> dict[str, int | None]:
    return {
        "complete": now.complete,
        "failed": now.failed,
        "running": now.running,
        "asked": now.asked,
        "abandoned": now.abandoned,
        "withdrawn": now.withdrawn,
        "confirming": now.confirming,
        "budget": now.budget,
        "left": now.left,
    }


def kept_data(kept: Mapping[str, Kept]) -> dict[str, Any]:
    """How limits are kept, by outcome, for programs."""
    return {
        name: {
            "limits": each.constraint.in_words(),
            "probability": each.constraint.probability,
            "share": each.share,
            "interval": list(each.interval),
            "sure": each.sure,
            "scatter": each.scatter,
        }
        for name, each in kept.items()
    }


def answer_data(answer: Any) -> dict[str, Any]:
    """The robust and the nominal optimum for programs."""

    def plain(each: Any) -> dict[str, Any]:
        return {
            "params": each.params,
            "mean": each.mean,
            "std": each.std,
            "nominal_mean": each.nominal_mean,
            "nominal_std": each.nominal_std,
            "test": None if each.test is None else asdict(each.test),
            "beyond": each.beyond,
            "outside": each.outside,
            "constraints": kept_data(each.kept),
            "sure": each.sure,
            "feasible": each.feasible,
            "scatter": each.scatter,
        }

    words = answer.optimizer.measure.in_words()
    return {
        "measure": words,
        "scatter_in_use": answer.optimizer.settings.scatter_in_use,
        "robust": plain(answer),
        "nominal": plain(answer.nominal),
        "notes": list(answer.notes),
    }
