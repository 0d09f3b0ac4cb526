"""The trials of a study in its storage: opened or begun, and refused where they are another's."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)
from optuna.exceptions import StorageInternalError
from optuna.trial import FrozenTrial
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from meseta.parameters import Category, Int, Parameter
from meseta.space import Space
from meseta.study.database import PatientDatabase, Trouble, open_database, reason, trouble
from meseta.study.file import StudyFile
from meseta.study.liveness import with_silence

FORMAT, NEWEST = "meseta:format", 1  # an attribute of studies, and what it says today

Distributions = dict[str, BaseDistribution]


class StorageError(RuntimeError):
    """The storage of a study cannot be used, or holds another study."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """A study file and its trials."""

    file: StudyFile
    study: optuna.Study
    database: PatientDatabase
    space: Space
    distributions: Distributions

    @property
    def trials(self) -> list[FrozenTrial]:
        """All of them; running ones say for how long their workers have been silent."""
        return with_silence(self.study.get_trials(deepcopy=False), self.database.now)

    def settable(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Without what cannot be set, in the order of the file."""
        observed = self.file.observed
        return {name: params[name] for name in self.space.names if name not in observed}

    def trial_id(self, number: int) -> int:
        storage = self.database.storage
        study_id = storage.get_study_id_from_name(self.file.name)
        return storage.get_trial_id_from_study_id_trial_number(study_id, number)

    def mark(self, number: int, key: str, value: Any) -> None:
        """Set an attribute of a trial that is not finished."""
        self.database.storage.set_trial_user_attr(self.trial_id(number), key, value)


def open_ledger(file: StudyFile, *, begin: bool = True, patience: float = 0.0) -> Ledger:
    """The study that the file describes; begun where it does not exist, if `begin` allows it.

    `patience` is how many seconds a database that is away is waited for.
    """
    space = file.space()
    wanted = {name: _distribution(parameter) for name, parameter in space.items()}
    with storage_failures(file):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        logging.getLogger("alembic").setLevel(logging.ERROR)
        opened = open_database(file.storage_url, patience)
        database = PatientDatabase(opened, lambda: storage_failures(file), patience)
        storage = database.storage
        if not begin and file.name not in optuna.get_all_study_names(storage):
            raise StorageError(
                f"{_where(file)} has no study {file.name!r} yet; `meseta run {file.label}` or "
                f"`meseta ask {file.label}` begins it"
            )
        study = optuna.create_study(
            storage=storage,
            study_name=file.name,
            direction=file.direction,
            load_if_exists=True,
        )
        if FORMAT not in study.user_attrs:
            study.set_user_attr(FORMAT, NEWEST)
    _check_same(file, study, wanted)
    return Ledger(file, study, database, space, wanted)


def _check_same(file: StudyFile, study: optuna.Study, wanted: Distributions) -> None:
    kept = study.user_attrs.get(FORMAT, NEWEST)
    if not isinstance(kept, int) or kept > NEWEST:
        raise StorageError(
            f"the study {file.name!r} in {_where(file)} was made by a newer version of meseta "
            f"(format {kept}, this one knows {NEWEST}); update with: pip install -U meseta"
        )
    if study.direction.name.lower() != file.direction:
        raise StorageError(
            f"the study {file.name!r} in {_where(file)} is one to {study.direction.name.lower()}, "
            f"but {file.label} says {file.direction}; {_remedy(file)}"
        )
    for trial in study.get_trials(deepcopy=False):
        for name, found in trial.distributions.items():
            if name not in wanted or found != wanted[name]:
                now = distribution_to_json(wanted[name]) if name in wanted else "not there"
                raise StorageError(
                    f"the study {file.name!r} in {_where(file)} has other parameters: in trial "
                    f"{trial.number} {name!r} is {distribution_to_json(found)}, in {file.label} it "
                    f"is {now}; {_remedy(file)}"
                )


def _remedy(file: StudyFile) -> str:
    return (
        "nothing was changed. Give the study another name in the file; its trials can be taken "
        f"over with `meseta status {file.label} --csv` of the old file and `meseta import`"
    )


@contextmanager
def storage_failures(file: StudyFile) -> Iterator[None]:
    """What databases say, with the name of the storage in front and without passwords."""
    try:
        yield
    except Exception as error:
        # errors of alembic are told by their name, since it is slow to load
        of_database = isinstance(error, (StorageInternalError, SQLAlchemyError, OSError))
        if of_database or type(error).__module__.startswith("alembic"):
            raise StorageError(
                f"{_where(file)} cannot be used: {reason(error)}; "
                f"{_HINTS.get(trouble(error), 'nothing was lost; mend it and start again')}"
            ) from error
        if isinstance(error, ImportError):  # of a driver
            raise StorageError(
                f"{_where(file)} cannot be used: {error}; PostgreSQL needs a driver: "
                "pip install 'meseta[postgresql]'"
            ) from error
        if type(error) is RuntimeError:  # Optuna's word for a database of another version of it
            raise StorageError(f"{_where(file)} cannot be used: {error}") from error
        raise


_HINTS: dict[Trouble, str] = {
    "away": "nothing was lost; look whether the server runs, and start the same command again",
    "busy": "another process is holding it; nothing was lost, start the same command again",
    "read-only": "look whether the folder exists and may be written to, or set storage in the file",
    "full": "make room on the disk; what was stored is kept",
    "no database": "it is not one of ours, or damaged; set storage in the file to another one",
}


def _where(file: StudyFile) -> str:
    try:
        url = make_url(file.storage_url)
    except Exception:
        return "the storage"
    if url.drivername.startswith("sqlite"):
        return str(url.database)
    return url.render_as_string(hide_password=True)


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Category):
        return CategoricalDistribution(parameter.choices)
    low, high, log = parameter.low, parameter.high, parameter.log
    if isinstance(parameter, Int):
        return IntDistribution(int(low), int(high), log=log, step=parameter.step)
    return FloatDistribution(low, high, log=log, step=parameter.step)
