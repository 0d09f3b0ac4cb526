"""Studies as tables of text that fit a terminal, and as plain data for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.trial import FrozenTrial

from meseta.integrations.optuna.attributes import ERROR, EXECUTED
from meseta.study.lab import Planned
from meseta.study.progress import Progress, kind_of
from meseta.study.terminal import one_line
from meseta.study.toml.file import StudyFile

WIDTH = 80


def headed(file: StudyFile, name: str) -> str:
    unit = file.parameters[name].unit
    return f"{name} [{unit}]" if unit else name


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns side by side; where they are too wide for a terminal, one block for each row."""
    header = [one_line(name) for name in header]
    cells = [[spelled(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= WIDTH:
        return [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
            for line in (header, *cells)
        ]
    label = max(map(len, header))
    lines: list[str] = []
    for row in cells:
        lines += [f"{name:{label}}  {cell}" for name, cell in zip(header, row, strict=True)]
        lines.append("")
    return lines[:-1]


def spelled(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else one_line(str(value))


def planned_table(file: StudyFile, planned: Sequence[Planned]) -> list[str]:
    if not planned:
        return []
    names = list(planned[0].params)
    header = ["trial", *(headed(file, name) for name in names)]
    return table(header, [[each.number, *each.params.values()] for each in planned])


def planned_data(planned: Sequence[Planned]) -> list[dict[str, Any]]:
    return [{"trial": each.number, "params": each.params} for each in planned]


def trial_data(trials: Sequence[FrozenTrial], file: StudyFile) -> list[dict[str, Any]]:
    """Every trial that counts, with the values that were carried out."""
    return [
        {
            "trial": trial.number,
            "state": kind_of(trial),
            "params": _carried_out(trial, file),
            "value": trial.value if trial.state.is_finished() else None,
            "error": trial.user_attrs.get(ERROR) or None,
        }
        for trial in trials
        if kind_of(trial) not in ("void", "abandoned") and trial.params
    ]


def _carried_out(trial: FrozenTrial, file: StudyFile) -> dict[str, Any]:
    """The parameters of the trial in the order of the file, then others that it may have."""
    observed, executed = file.observed, trial.user_attrs.get(EXECUTED, {})
    order = [name for name in file.parameters if name in trial.params]
    order += [name for name in trial.params if name not in order]
    params = {name: trial.params[name] for name in order if name not in observed}
    return {**params, **(executed if isinstance(executed, Mapping) else {})}


def progress_lines(file: StudyFile, now: Progress) -> list[str]:
    done = now.complete + now.failed
    parts = [f"{done} done" if now.budget is None else f"{done} of {now.budget} done"]
    parts += [
        f"{count} {what}"
        for count, what in (
            (now.failed, "failed"),
            (now.running, "running"),
            (now.asked, "in hand"),
            (now.abandoned, "whose worker is gone"),
        )
        if count
    ]
    return [f"{one_line(file.name)}: {file.direction}, {', '.join(parts)}"]


def progress_data(now: Progress) -> dict[str, int | None]:
    return {
        "complete": now.complete,
        "failed": now.failed,
        "running": now.running,
        "asked": now.asked,
        "abandoned": now.abandoned,
        "budget": now.budget,
        "left": now.left,
    }


def answer_data(answer: Any) -> dict[str, Any]:
    """A recommendation and the nominal optimum."""

    def plain(each: Any) -> dict[str, Any]:
        return {
            "params": each.params,
            "mean": each.mean,
            "std": each.std,
            "nominal_mean": each.nominal_mean,
            "nominal_std": each.nominal_std,
        }

    return {"robust": plain(answer), "nominal": plain(answer.nominal), "notes": list(answer.notes)}
