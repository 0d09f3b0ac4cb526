"""The trials of a study in its storage: opened or begun, and refused where they are another's."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.exceptions import StorageInternalError
from optuna.trial import FrozenTrial
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from meseta.parameters import Category, Int, Parameter
from meseta.space import Space
from meseta.study.file import StudyFile
from meseta.study.unchanged import PARAMETERS, Distributions, as_attribute, changes

FORMAT, NEWEST = "meseta:format", 1  # an attribute of studies, and what it says today
SQLITE_PATIENCE = 60.0  # seconds until a database that another process writes to is given up


class StorageError(RuntimeError):
    """The storage of a study cannot be used, or holds another study."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """A study file and its trials."""

    file: StudyFile
    study: optuna.Study
    storage: optuna.storages.BaseStorage
    space: Space
    distributions: Distributions

    @property
    def trials(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)

    @property
    def database(self) -> Path | None:
        """The file of the trials; None: they are on a server."""
        return database_file(self.file.storage_url)

    def settable(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Without what cannot be set, in the order of the file."""
        observed = self.file.observed
        return {name: params[name] for name in self.space.names if name not in observed}

    def trial_id(self, number: int) -> int:
        study_id = self.storage.get_study_id_from_name(self.file.name)
        return self.storage.get_trial_id_from_study_id_trial_number(study_id, number)

    def mark(self, number: int, key: str, value: Any) -> None:
        """Set an attribute of a trial that is not finished."""
        self.storage.set_trial_user_attr(self.trial_id(number), key, value)


def open_ledger(file: StudyFile, *, begin: bool = True, reading: bool = False) -> Ledger:
    """The study that the file describes; begun where it does not exist, if `begin` allows it.

    Where it is opened for `reading`, nothing is written, not even a database.
    """
    space = file.space()
    wanted = distributions_of(space)
    if begin and not reading:
        with storage_failures(file):
            storage: optuna.storages.BaseStorage = _storage(file.storage_url)
            study = optuna.create_study(
                storage=storage,
                study_name=file.name,
                direction=file.direction,
                load_if_exists=True,
            )
    else:
        study, storage = kept_study(file)
    with storage_failures(file):
        _check_format(file, study)
        _check_same(file, study, wanted)
        if not reading:
            _keep(study, {FORMAT: NEWEST, PARAMETERS: as_attribute(wanted)})
    return Ledger(file, study, storage, space, wanted)


def kept_study(file: StudyFile) -> tuple[optuna.Study, optuna.storages.BaseStorage]:
    """The study as the storage has it, whatever else the file says; nothing is written."""
    with storage_failures(file):
        storage = _storage(file.storage_url, create=False)
        if storage is None or file.name not in optuna.get_all_study_names(storage):
            raise StorageError(
                f"{_where(file)} has no study {file.name!r} yet; `meseta run {file.label}` or "
                f"`meseta ask {file.label}` begins it"
            )
        study = optuna.load_study(study_name=file.name, storage=storage)
        _check_format(file, study)
        return study, storage


def _check_format(file: StudyFile, study: optuna.Study) -> None:
    kept = study.user_attrs.get(FORMAT, NEWEST)
    if not isinstance(kept, int) or kept > NEWEST:
        raise StorageError(
            f"the study {file.name!r} in {_where(file)} was made by a newer version of meseta "
            f"(format {kept}, this one knows {NEWEST}); update with: pip install -U meseta"
        )


def differences(file: StudyFile, study: optuna.Study, wanted: Distributions) -> str:
    """What the file says that is not so in the study, in a sentence; empty: nothing."""
    here = f"the study {file.name!r} in {_where(file)}"
    if study.direction.name.lower() != file.direction:
        kept = study.direction.name.lower()
        return f"{here} is one to {kept}, but {file.label} says {file.direction}"
    found = changes(study, study.get_trials(deepcopy=False), wanted)
    return f"{here} has other parameters than {file.label}: {'; '.join(found)}" if found else ""


def _check_same(file: StudyFile, study: optuna.Study, wanted: Distributions) -> None:
    found = differences(file, study, wanted)
    if found:
        raise StorageError(
            f"{found}. Nothing was changed. Take the change back; or write the trials out with "
            f"`meseta status {file.label} --csv > trials.csv`, give the study another name in the "
            "file, and take them over with `meseta import`"
        )


def _keep(study: optuna.Study, attributes: Mapping[str, Any]) -> None:
    known = study.user_attrs
    for key, value in attributes.items():
        if known.get(key) != value:
            study.set_user_attr(key, value)


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
                f"{_where(file)} cannot be used: {_reason(error)}; {_hint(error)}"
            ) from error
        if isinstance(error, ImportError):  # of a driver
            raise StorageError(
                f"{_where(file)} cannot be used: {error}; PostgreSQL needs a driver: "
                "pip install 'meseta[postgresql]'"
            ) from error
        if type(error) is RuntimeError:  # Optuna's word for a database of another version of it
            raise StorageError(f"{_where(file)} cannot be used: {error}") from error
        raise


def _reason(error: BaseException) -> str:
    deepest = error
    while deepest.__cause__ is not None:
        deepest = deepest.__cause__
    return str(getattr(deepest, "orig", None) or deepest).strip().split("\n")[0]


def _hint(error: BaseException) -> str:
    text = _reason(error).lower()
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "look whether the folder exists and may be written to, or set storage in the file"
    if "full" in text or "no space" in text:
        return "make room on the disk; what was stored is kept"
    if "not a database" in text:
        return "it is not one of ours; set storage in the file to another one"
    return "nothing was lost; mend it and start the same command again"


def _where(file: StudyFile) -> str:
    try:
        url = make_url(file.storage_url)
    except Exception:
        return "the storage"
    if url.drivername.startswith("sqlite"):
        return str(url.database)
    return url.render_as_string(hide_password=True)


@overload
def _storage(url: str) -> optuna.storages.RDBStorage: ...
@overload
def _storage(url: str, *, create: bool) -> optuna.storages.RDBStorage | None: ...
def _storage(url: str, *, create: bool = True) -> optuna.storages.RDBStorage | None:
    """The database; made where there is none yet, or None where `create` does not allow it."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    parsed = make_url(url)
    options: dict[str, Any] = {}
    if parsed.drivername.startswith("sqlite"):
        options["connect_args"] = {"timeout": SQLITE_PATIENCE}
    else:
        options["pool_pre_ping"] = True
        if parsed.drivername in ("postgresql", "postgres"):
            url = parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    if not create and not _exists(url, options):
        return None
    return optuna.storages.RDBStorage(url, engine_kwargs=options, skip_table_creation=not create)


def database_file(url: str) -> Path | None:
    """The file of a SQLite database; None: it is elsewhere."""
    parsed = make_url(url)
    in_file = parsed.drivername.startswith("sqlite") and parsed.database not in (None, ":memory:")
    return Path(str(parsed.database)) if in_file else None


def _exists(url: str, options: Mapping[str, Any]) -> bool:
    """Whether there is a database with the tables of Optuna; looking makes none."""
    place = database_file(url)
    if place is not None and not place.exists():
        return False
    engine = create_engine(url, **options)
    try:
        return inspect(engine).has_table("alembic_version")  # the last one that is made
    finally:
        engine.dispose()


def distributions_of(space: Space) -> Distributions:
    """The parameters as Optuna has them."""
    return {name: _distribution(parameter) for name, parameter in space.items()}


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Category):
        return CategoricalDistribution(parameter.choices)
    low, high, log = parameter.low, parameter.high, parameter.log
    if isinstance(parameter, Int):
        return IntDistribution(int(low), int(high), log=log, step=parameter.step)
    return FloatDistribution(low, high, log=log, step=parameter.step)
