"""The report of a study file."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from meseta.integrations.optuna.study_report import study_report
from meseta.measures.constraints import PROBABILITY
from meseta.report import page
from meseta.report.views.report import Report
from meseta.report.views.wording import Terms
from meseta.space.formula import Formula
from meseta.study.database import database_file
from meseta.study.ledger import Ledger


def check_target(ledger: Ledger, path: Path, *, force: bool = False) -> None:
    """Refuse to write a report over anything but a report; never over the study itself."""
    file = ledger.file
    database = database_file(file.storage_url)
    own = {"the study file": file.path, "the database of the study": database}
    for what, place in own.items():
        if place is not None and _same(place, path):
            raise ValueError(f"{path} is {what}, which is never overwritten; name another by -o")
    page.check_target(path, force=force)


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def report_of(ledger: Ledger) -> Report:
    """The report on all trials, in the words of the file."""
    file = ledger.file
    return study_report(ledger.study, file.settings(), terms_of(ledger), tuple(file.parameters))


def terms_of(ledger: Ledger) -> Terms:
    file = ledger.file
    parameters = file.parameters.items()
    return Terms(
        title=file.name,
        value=file.value or "f",
        unit=file.unit or "",
        units={name: table.unit for name, table in parameters if table.unit},
        notes={name: table.note for name, table in parameters if table.note},
        note=file.notes,
        at_least=file.at_least,
        at_most=file.at_most,
        target=file.target,
        probability=PROBABILITY if file.probability is None else file.probability,
        prices=file.prices,
    )


def plain(report: Report) -> Any:
    """The report as plain values for JSON; numbers that are not finite become null.

    What is for the page alone is not among them.
    """
    shown = _plain(replace(report, play=None, running=None))
    return {key: each for key, each in shown.items() if key not in ("play", "running")}


def _plain(value: Any) -> Any:
    if isinstance(value, Formula):
        return value.text
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
