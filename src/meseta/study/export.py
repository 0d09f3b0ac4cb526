"""The trials of a study as files and programs take them, whatever the study file says by now."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial

from meseta.optimizer.outcomes import VALUE
from meseta.study.ledger import differences, distributions_of, kept_study, legible, trials_of
from meseta.study.quality import quality_cell, told_columns
from meseta.study.show import change_data, trial_data
from meseta.study.spreadsheet import COMMENT, FAILED, STATE, TRIAL, Cells
from meseta.study.toml.file import StudyFile, read_study, read_whereabouts
from meseta.study.toml.sentences import StudyError


@dataclass(frozen=True, eq=False)
class Export:
    """The trials as they are stored."""

    file: StudyFile  # without parameters, where the file cannot be read
    trials: list[FrozenTrial]
    note: str  # how the file differs from the trials; empty: it does not
    changes: list[dict[str, Any]]  # of the parameters

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each trial that counts."""
        return trial_data(self.trials, self.file)

    @property
    def cells(self) -> Cells:
        """A table, which `meseta import` takes."""
        rows = self.rows
        found = dict.fromkeys(name for row in rows for name in row["params"])
        names = [*self.file.parameters, *(n for n in found if n not in self.file.parameters)]
        told = dict.fromkeys(name for row in rows for name in row["outcomes"])
        others = list(dict.fromkeys((*self.file.outcomes.names, *told)))
        remarks = any(row["amendments"] for row in rows)
        quality = told_columns(self.file, rows)
        cells = [
            [
                row["trial"],
                row["state"],
                *map(row["params"].get, names),
                row["value"],
                *map(row["outcomes"].get, others),
                *(quality_cell(row, name) for name in quality),
                row["error"] if row["state"] == FAILED else None,
                *(["; ".join(each["text"] for each in row["amendments"])] if remarks else []),
            ]
            for row in rows
        ]
        further = [COMMENT] if remarks else []
        header = [TRIAL, STATE, *names, VALUE, *others, *quality, FAILED, *further]
        return Cells(header, cells)


def export(path: Path) -> Export:
    """Read the trials; nothing is written."""
    try:
        file, note = read_study(path), ""
    except StudyError as error:
        file, note = read_whereabouts(path), f"the file cannot be used as it is: {error}"
    study, database = kept_study(file)
    with legible(study):
        if not note:
            try:
                note = differences(file, study, distributions_of(file.ranges()))
            except StudyError as error:
                note = f"the file cannot be used as it is: {error}"
        return Export(file, trials_of(study, database), note, change_data(study))
