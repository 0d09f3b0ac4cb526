"""The trials of a study in its storage; refused where they belong to another study."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.exceptions import StorageInternalError
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

import meseta
from meseta.boundary import described_error, read_number
from meseta.integrations.optuna.amended import amended_trials
from meseta.integrations.optuna.attributes import DESIGNS
from meseta.integrations.optuna.changed import Distributions, changes_of, written
from meseta.space.parameter import Categorical, Float, Int, Parameter
from meseta.study.database import (
    PatientDatabase,
    Trouble,
    kept_database,
    open_database,
    reason,
    trouble,
)
from meseta.study.toml.file import StudyFile
from meseta.study.toml.unchanged import PARAMETERS, changes
from meseta.study.workers.liveness import with_silence

if TYPE_CHECKING:
    from meseta.space.space import Space

# An attribute of studies. 1: the trials say all. 2: amendments and changes count. 3: what is told
# of a trial is one attribute. Older versions of meseta do not know the later ones.
FORMAT, OLDEST, NEWEST = "meseta:format", 1, 3
# The version of meseta that began the study; studies of 0.1.0 do not have it.
VERSION = "meseta:version"
# The rules by which figures of a study were computed when it was last asked; not there: those of
# the version that began it. What has changed since 0.1.0 is said once.
RULES, NEWEST_RULES = "meseta:rules", 2
OTHER_FIGURES = (
    "this study was begun with an earlier version of meseta, and its figures follow other rules "
    "now: the scatter of single values counts in yield, limits and capability (scatter_in_use = "
    '"none" leaves it out); intervals leave open what the data do not say of the model, and are '
    "wider; the design recommended is the best bet, one standard deviation below its mean"
)
# Attributes of a study begin with this, then an identity of their own: one that is begun in place
# of a study that was deleted has its name, and perhaps its numbers, but not this.
BEGUN = "meseta:begun:"


class StorageError(RuntimeError):
    """The storage of a study cannot be used, or holds another study."""


class StudyGone(StorageError):
    """Somebody has deleted or replaced the study while it was open."""

    def __init__(self, file: StudyFile) -> None:
        super().__init__(
            f"the study {file.name!r} that was opened is not in {_where(file)} any more: somebody "
            "has deleted or replaced it"
        )


@dataclass(frozen=True, eq=False)
class Ledger:
    """A study file and its trials."""

    file: StudyFile
    study: optuna.Study
    database: PatientDatabase
    parameters: Mapping[str, Parameter]
    distributions: Distributions
    stored: Mapping[str, str]  # parameters that trials have under another name, see `Change`
    begun: str | None = None  # its attribute BEGUN; None: it is only read

    @cached_property
    def space(self) -> "Space":
        """The parameters as the model takes them; this loads torch."""
        from meseta.space.space import Space

        return Space(self.parameters)

    @property
    def trials(self) -> list[FrozenTrial]:
        return trials_of(self.study, self.database)

    def settable(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The values that can be set, in the order of the file."""
        observed = self.file.observed
        return {name: params[name] for name in self.parameters if name not in observed}

    def ask(self) -> optuna.Trial:
        """Begin a trial with a design by the sampler; see `design_of` for its values."""
        return self.study.ask({self.stored.get(n, n): d for n, d in self.distributions.items()})

    def design_of(self, trial: optuna.Trial) -> dict[str, Any]:
        """The values of a trial that has just begun, by the names of the file."""
        named = {alias: name for name, alias in self.stored.items()}
        return {named.get(name, name): value for name, value in trial.params.items()}

    def add_trials(self, trials: Sequence[FrozenTrial]) -> None:
        """Add trials that have the names of the file."""
        self.study.add_trials([self._as_stored(trial) for trial in trials])

    def _as_stored(self, trial: FrozenTrial) -> FrozenTrial:
        new = copy(trial)
        new.params = {self.stored.get(name, name): v for name, v in trial.params.items()}
        new.distributions = {self.stored.get(n, n): d for n, d in trial.distributions.items()}
        return new

    def check_there(self) -> None:
        """Refuse to go on where the study is another one than was opened."""
        if self.begun is not None and self.begun not in self.study.user_attrs:
            raise StudyGone(self.file)

    def check_unchanged(self) -> None:
        """Refuse to go on where somebody has changed the parameters meanwhile, or all of it."""
        self.check_there()
        changed = changes_of(self.study)
        if changed and changed[-1].parameters != self.distributions:
            raise StorageError(
                f"the parameters of the study {self.file.name!r} were changed meanwhile; start "
                "the same command again"
            )

    def begin_trial(self, params: Mapping[str, Any], attributes: Mapping[str, Any]) -> int:
        """Begin a trial with its design, stored whole or not at all; returns its number."""
        storage = self.database.storage
        begun = create_trial(
            state=TrialState.RUNNING,
            params=dict(params),
            distributions={name: self.distributions[name] for name in params},
            user_attrs=dict(attributes),
        )
        study_id = storage.get_study_id_from_name(self.file.name)
        return storage.get_trial_number_from_id(
            storage.create_new_trial(study_id, self._as_stored(begun))
        )

    def trial_id(self, number: int) -> int:
        storage = self.database.storage
        study_id = storage.get_study_id_from_name(self.file.name)
        return storage.get_trial_id_from_study_id_trial_number(study_id, number)

    def mark(self, number: int, key: str, value: Any) -> None:
        """Set an attribute of a trial that is not finished."""
        self.database.storage.set_trial_user_attr(self.trial_id(number), key, value)


def open_ledger(
    file: StudyFile, *, begin: bool = True, reading: bool = False, patience: float = 0.0
) -> Ledger:
    """The study that the file describes; begun where it does not exist, if `begin` allows it.

    With `reading` nothing is written, not even a database. A database that is away has `patience`
    seconds to come back.
    """
    parameters = file.ranges()
    wanted = distributions_of(parameters)
    if begin and not reading:
        with storage_failures(file):
            database = _patient(file, open_database(file.storage_url, patience), patience)
            study = optuna.create_study(
                storage=database.storage,
                study_name=file.name,
                direction=file.direction,
                load_if_exists=True,
            )
            _check_format(file, study)
    else:
        study, database = kept_study(file, patience)
    with legible(study):
        _check_whole(amended_trials(study))
        _check_same(file, study, wanted)
    if not reading:
        begun: dict[str, Any] = {} if _begun(study) else {f"{BEGUN}{uuid4().hex}": True}
        begun |= {} if PARAMETERS in study.user_attrs else {VERSION: meseta.__version__}
        _keep(study, {**begun, FORMAT: _format(study), PARAMETERS: written(wanted)})
        designs = designs_of(parameters)
        _keep(study, {DESIGNS: designs} if designs or study.user_attrs.get(DESIGNS) else {})
    named = None if reading else _begun(study)
    return Ledger(file, study, database, parameters, wanted, stored_names(study), named)


def _begun(study: optuna.Study) -> str | None:
    """The attribute that tells the study from all others; None: it has none yet."""
    return next((key for key in study.user_attrs if key.startswith(BEGUN)), None)


def stored_names(study: optuna.Study) -> dict[str, str]:
    """The parameters that new trials have under another name."""
    return {name: alias for change in changes_of(study) for name, alias in change.stored.items()}


def kept_study(file: StudyFile, patience: float = 0.0) -> tuple[optuna.Study, PatientDatabase]:
    """The study as the storage has it, whatever else the file says; nothing is written."""
    with storage_failures(file):
        kept = kept_database(file.storage_url, patience)
        database = None if kept is None else _patient(file, kept, patience)
        if database is None or file.name not in optuna.get_all_study_names(database.storage):
            raise StorageError(
                f"{_where(file)} has no study {file.name!r} yet; `meseta "
                f"{'ask' if file.objective is None else 'run'} {file.label}` begins it, or "
                f"`meseta import {file.label} DATA.csv` with experiments from before"
            )
        study = optuna.load_study(study_name=file.name, storage=database.storage)
        _check_format(file, study)
        return study, database


def trials_of(study: optuna.Study, database: PatientDatabase) -> list[FrozenTrial]:
    """All trials, put right; running ones have an attribute with the silence of their workers."""
    with legible(study):
        trials = amended_trials(study)
    return with_silence(trials, database.now, database.listener)


@contextmanager
def legible(study: optuna.Study) -> Iterator[None]:
    """Failures to read what is stored become StorageErrors: the database is damaged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StorageError(
            f"what is stored of the study {study.study_name!r} is damaged: "
            f"{described_error(error)}; nothing was changed. Put back a copy of the database, or "
            "mend it with the tools of the database"
        ) from error


def _check_whole(trials: Sequence[FrozenTrial]) -> None:
    """Refuse trials of which some were lost: what is told of one would be stored with another."""
    for place, trial in enumerate(trials):
        if trial.number != place:
            raise ValueError(f"trial {min(place, trial.number)} is missing, or there twice")
        for name, distribution in trial.distributions.items():
            if not isinstance(distribution, CategoricalDistribution):
                read_number(f"{name!r} of trial {place}", trial.params[name])
        for value in trial.values or ():
            if not isinstance(value, int | float):
                raise ValueError(f"the value of trial {place} is {value!r}, and no number")


def _patient(
    file: StudyFile, database: optuna.storages.RDBStorage, patience: float
) -> PatientDatabase:
    return PatientDatabase(database, lambda: storage_failures(file), patience)


def _format(study: optuna.Study) -> Any:
    return study.user_attrs.get(FORMAT, OLDEST)


def raise_format(study: optuna.Study) -> None:
    """Say that versions of meseta that do not know tells and amendments would misread the study."""
    _keep(study, {FORMAT: NEWEST})


def _check_format(file: StudyFile, study: optuna.Study) -> None:
    kept = _format(study)
    if not isinstance(kept, int) or kept > NEWEST:
        raise StorageError(
            f"the study {file.name!r} in {_where(file)} was made by a newer version of meseta "
            f"(format {kept}, this one knows {NEWEST}); update with: pip install -U meseta"
        )


def differences(file: StudyFile, study: optuna.Study, wanted: Distributions) -> str:
    """A sentence on how the file differs from the study; empty: it does not."""
    here = f"the study {file.name!r} in {_where(file)}"
    if study.direction.name.lower() != file.direction:
        kept = study.direction.name.lower()
        return f"{here} is one to {kept}, but {file.label} says {file.direction}"
    trials = amended_trials(study)
    found = changes(study, trials, wanted)
    designs, named = kept_designs(study), designs_of(file.ranges())
    if trials and not found and designs != named:
        found = [f"its designs have the ranges {designs}, in the file {named}"]
    return f"{here} has other parameters than {file.label}: {'; '.join(found)}" if found else ""


def kept_designs(study: optuna.Study) -> dict[str, list[float]]:
    """The ranges of designs that the study has trials of."""
    changed = changes_of(study)
    return changed[-1].designs if changed else study.user_attrs.get(DESIGNS, {})


def _check_same(file: StudyFile, study: optuna.Study, wanted: Distributions) -> None:
    found = differences(file, study, wanted)
    if found:
        raise StorageError(
            f"{found}. Nothing was changed. Take the change back; or take it over with `meseta "
            f"change {file.label}`, if all trials stay valid; or write the trials out with "
            f"`meseta status {file.label} --csv > trials.csv`, give the study another name in the "
            "file, and take them over with `meseta import`"
        )


def news_of_figures(ledger: Ledger) -> str:
    """Say once of a study of an earlier version which figures follow other rules; otherwise ''."""
    known = ledger.study.user_attrs
    if VERSION in known or RULES in known or not ledger.trials:
        return ""
    with suppress(StorageError), storage_failures(ledger.file):  # otherwise it is said again
        _keep(ledger.study, {RULES: NEWEST_RULES})
    return OTHER_FIGURES


def _keep(study: optuna.Study, attributes: Mapping[str, Any]) -> None:
    known = study.user_attrs
    for key, value in attributes.items():
        if known.get(key) != value:
            study.set_user_attr(key, value)


@contextmanager
def storage_failures(file: StudyFile) -> Iterator[None]:
    """Failures of databases become StorageErrors that name the storage, without passwords."""
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
        if isinstance(error, KeyError) and error.args == _NOT_THERE:
            raise StudyGone(file) from error
        if isinstance(error, ImportError):  # a driver is missing
            raise StorageError(
                f"{_where(file)} cannot be used: {error}; PostgreSQL needs a driver: "
                "pip install 'meseta[postgresql]'"
            ) from error
        if type(error) is RuntimeError:  # Optuna's word for a database of another version of it
            raise StorageError(f"{_where(file)} cannot be used: {error}") from error
        raise


# How Optuna says that there is no such study or trial; other KeyErrors are of damaged ones.
_NOT_THERE = ("Record does not exist.",)
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


def distributions_of(parameters: Mapping[str, Parameter]) -> Distributions:
    """The parameters as Optuna has them."""
    return {name: _distribution(parameter) for name, parameter in parameters.items()}


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    wide, log = parameter.experiments, parameter.log
    if isinstance(wide, Int):
        return IntDistribution(int(wide.low), int(wide.high), log=log, step=wide.step)
    return FloatDistribution(wide.low, wide.high, log=log, step=wide.step)


def designs_of(parameters: Mapping[str, Parameter]) -> dict[str, list[float]]:
    """The ranges of the designs of parameters whose trials may go further."""
    return {
        name: [parameter.low, parameter.high]
        for name, parameter in parameters.items()
        if isinstance(parameter, Float) and parameter.evaluate is not None
    }
