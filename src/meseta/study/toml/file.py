"""Study files: read, and refused with the line that is wrong. Nothing here loads torch."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from meseta.boundary import EVERY, are, shown, unknown
from meseta.optimizer.outcomes import EXECUTED, VALUE, Outcomes
from meseta.study.encodings import read_regular
from meseta.study.spreadsheet import COLUMNS
from meseta.study.toml.keys import (
    CommandObjective,
    ConstraintTable,
    Contents,
    Objective,
    ParameterTable,
    SettingsKeys,
)
from meseta.study.toml.lines import Lines, Place, find_lines, line_of
from meseta.study.toml.noise_keys import JointNoise
from meseta.study.toml.sentences import Mistake, StudyError, sentence, trimmed
from meseta.study.toml.storage import check_storage, storage_url
from meseta.study.workers.hand_over import check_arguments, check_variables

if TYPE_CHECKING:
    from meseta.measures.constraints import Constraint
    from meseta.noise import Edge
    from meseta.optimizer.settings import Settings
    from meseta.space.named_noise import NamedNoise
    from meseta.space.parameter import Parameter
    from meseta.space.price import Price
    from meseta.space.space import Space

__all__ = ["StudyError", "StudyFile", "read_study"]

VERSION = 1  # the newest format of study files
TOO_DEEP = "lists or tables are nested too deeply"
MOST_COLUMNS = 1000  # of a model: one for a number, one for each choice
LONGEST_NAME = 512  # letters: the columns of Optuna's tables
LARGEST = 16 * 2**20  # bytes; longer lists of measurements belong into a CSV file


@dataclass(frozen=True)
class StudyFile:
    """A study as its file describes it.

    `space`, `noise`, `edge` and `settings` are what `Optimizer` takes; all but `edge` load torch.
    """

    path: Path  # absolute
    label: str  # the path as it was given, for messages
    name: str
    chosen: SettingsKeys  # as they are written; see settings
    budget: int | None  # trials; None: until somebody stops
    storage: str | None  # as it is written; see storage_url
    notes: str
    value: str | None  # what is measured
    unit: str | None  # the unit of the value
    at_least: float | None  # the specification limits of the value
    at_most: float | None
    target: float | None  # what the value should be, between the limits
    probability: float | None  # how often the limits are to be met in use
    objective: Objective | None  # None: trials are carried out by hand
    parameters: dict[str, ParameterTable]
    joint: tuple[JointNoise, ...]
    constraints: dict[str, ConstraintTable]
    further: tuple[str, ...]  # outcomes that have no constraint
    columns: dict[str, str]  # names of columns in tables, and what they are called here
    lines: Lines = field(repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the file start from."""
        return self.path.parent

    @property
    def storage_url(self) -> str:
        """The URL of the database, with environment variables filled in: never show or log it."""
        with self.at(("study", "storage")):
            return storage_url(self.storage, self.path)

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        return self.chosen.direction

    @property
    def possible(self) -> tuple[float, float]:
        """The smallest and the largest value that can be."""
        return EVERY if self.chosen.possible is None else self.chosen.possible

    @property
    def outcomes(self) -> Outcomes:
        """The names of all outcomes; their constraints are in `settings`."""
        own = self.value
        objective = VALUE if own is None or own in (*self.parameters, *COLUMNS) else own
        names = dict.fromkeys((*self.constraints, *self.further))
        return Outcomes(objective, tuple(name for name in names if name != objective))

    @property
    def needed(self) -> tuple[str, ...]:
        """The outcomes with constraints, but for what is optimised."""
        return tuple(name for name in self.constraints if name in self.outcomes.names)

    def constraint(self, name: str) -> "Constraint":
        """The limits of one outcome; a StudyError says what is wrong with them."""
        from meseta.measures.constraints import PROBABILITY, limits

        with self.at(("constraints", name)):
            table = self.constraints[name]
            asked = PROBABILITY if table.probability is None else table.probability
            return limits(table.at_least, table.at_most, asked)

    @property
    def goal(self) -> "Constraint | None":
        """The specification of the value, and how often it is to be met; None without limits."""
        from meseta.measures.constraints import PROBABILITY, limits

        if self.at_least is None and self.at_most is None:
            return None
        with self.at(("study", "probability")):
            asked = PROBABILITY if self.probability is None else self.probability
            return limits(self.at_least, self.at_most, asked)

    @property
    def prices(self) -> "dict[str, Price]":
        """What tolerances cost, by parameter, of those that have a price."""
        found = {name: table.price() for name, table in self.parameters.items()}
        return {name: price for name, price in found.items() if price is not None}

    @property
    def observed(self) -> tuple[str, ...]:
        """The parameters that cannot be set even in an experiment."""
        return tuple(name for name, table in self.parameters.items() if table.observed)

    def parameter(self, name: str) -> "Parameter":
        """One parameter with its range; a StudyError says what is wrong with it."""
        with self.at(("parameters", name)):
            return self.parameters[name].parameter()

    def ranges(self) -> "dict[str, Parameter]":
        """All parameters, by name."""
        return {name: self.parameter(name) for name in self.parameters}

    def space(self) -> "Space":
        """The parameters as `Optimizer` takes them."""
        from meseta.space.space import Space

        return Space(self.ranges())

    def noise(self) -> "NamedNoise | None":
        """The laws by parameter, and by tuples of them; None: nothing is perturbed."""
        from meseta.study.toml.laws import build_noise

        return build_noise(self)

    def edge(self) -> "dict[str, Edge]":
        """The treatment of values beyond the ranges, for parameters that name one."""
        return {name: p.edge for name, p in self.parameters.items() if p.edge is not None}

    def settings(self) -> "Settings":
        """All of them, noise and edge included."""
        from meseta.optimizer.settings import Settings

        names = set(SettingsKeys.model_fields)
        written = self.chosen.model_dump(include=names, exclude_unset=True)
        outcomes = self.outcomes
        return Settings(
            noise=self.noise(),
            edge=self.edge() or "allow",
            objective=outcomes.objective,
            outcomes=outcomes.names,
            constraints={name: self.constraint(name) for name in self.constraints},
            **written,
        )

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Refusals inside become StudyErrors that name this place in the file."""
        try:
            yield
        except StudyError:
            raise
        except (TypeError, ValueError) as error:
            says = f"cannot be used: {error}"
            raise StudyError(self.label, [self.mistake(place, says)]) from error

    def mistake(self, place: Place, says: str) -> Mistake:
        return Mistake(line_of(self.lines, place), place, says)


def read_study(path: str | os.PathLike[str]) -> StudyFile:
    """The study in a TOML file; a StudyError says what is wrong with it, line by line.

    Laws and ranges are only built by `space` and `noise`, or looked at by `check`.
    """
    label, absolute = os.fspath(path), Path(os.path.abspath(path))
    text = _read_text(label, absolute)
    raw = _parse(label, text)
    lines = find_lines(text)
    contents = _validated(label, raw, lines)
    mistakes = [Mistake(line_of(lines, place), place, says) for place, says in _more(contents)]
    if mistakes:
        raise StudyError(label, mistakes)
    return _study_file(absolute, label, contents, lines)


def read_whereabouts(path: str | os.PathLike[str]) -> StudyFile:
    """The name and the storage of a study alone, from a file that may be wrong in all else.

    The StudyFile has no parameters and no objective.
    """
    label, absolute = os.fspath(path), Path(os.path.abspath(path))
    text = _read_text(label, absolute)
    study = _parse(label, text).get("study", {})
    known = study.items() if isinstance(study, Mapping) else ()
    needed = {key: value for key, value in known if key in ("name", "storage")}
    lines = find_lines(text)
    contents = _validated(label, {"study": needed, "parameters": {}}, lines)
    file = _study_file(absolute, label, contents, lines)
    if file.storage is not None:
        with file.at(("study", "storage")):
            check_storage(file.storage)
    return file


def _study_file(path: Path, label: str, contents: Contents, lines: Lines) -> StudyFile:
    table = contents.study
    return StudyFile(
        path=path,
        label=label,
        name=path.stem if table.name is None else table.name,
        chosen=table,
        budget=table.budget,
        storage=table.storage,
        notes=table.notes,
        value=table.value,
        unit=table.unit,
        at_least=table.at_least,
        at_most=table.at_most,
        target=table.target,
        probability=table.probability,
        objective=contents.objective,
        parameters=contents.parameters,
        joint=contents.noise,
        constraints=contents.constraints,
        further=tuple(table.outcomes),
        columns=contents.columns,
        lines=lines,
    )


def _read_text(label: str, path: Path) -> str:
    def refused(says: str) -> StudyError:
        return StudyError(label, [Mistake(None, (), says)])

    try:
        content = read_regular(path, LARGEST)
    except FileNotFoundError:
        says = "there is no such file; `meseta init` writes one to start from"
        raise refused(says) from None
    except OSError as error:
        raise refused(f"cannot be read: {error}") from None
    except ValueError as error:
        raise refused(f"{error}; name a TOML file, and keep measurements in a CSV file") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        says = "is not UTF-8, as TOML must be; save the file with the encoding UTF-8"
        raise StudyError(label, [Mistake(line, (), says)]) from None


def _parse(label: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        says = str(error) if isinstance(error, ValueError) else TOO_DEEP
        at = re.search(r" \(at line (\d+), column (\d+)\)", says)
        line = int(at[1]) if at else None
        if at:
            says = f"{says[: at.start()]}, column {at[2]}"
        elif "(at end of document)" in says:
            line = text.rstrip().count("\n") + 1
        wrong = text.splitlines()[line - 1] if line else ""
        says = f"not valid TOML: {says}; {_advice(says, wrong)}"
        raise StudyError(label, [Mistake(line, (), says)]) from None


def _advice(says: str, line: str) -> str:
    """What to do about a line that is not valid TOML."""
    if re.match("Cannot (declare|overwrite|mutate)", says):
        return "each table and each key stands once in the file: put both together, or take one out"
    if re.search(r"=\s*[-+]?\d+,\d", line):
        return "numbers have a decimal point, 0.5 and not 0,5"
    return "texts stand in quotes, each key on a line of its own"


def _validated(label: str, raw: dict[str, Any], lines: Lines) -> Contents:
    version = raw.get("version", VERSION)
    newer = isinstance(version, int) and not isinstance(version, bool) and version > VERSION
    if newer:
        says = (
            f"is {shown(version)}, but this meseta reads files up to version {VERSION}: the file "
            "was made by a newer version of meseta; update with: pip install -U meseta"
        )
        raise StudyError(label, [Mistake(line_of(lines, ("version",)), ("version",), says)])
    try:
        return Contents.model_validate(raw)
    except ValidationError as error:
        mistakes = []
        for each in error.errors(include_url=False):
            place = trimmed(each, raw)
            mistakes.append(Mistake(line_of(lines, place), place, sentence(each)))
        mistakes.sort(key=lambda mistake: mistake.line or 0)
        raise StudyError(label, dict.fromkeys(mistakes)) from None
    except RecursionError:
        raise StudyError(label, [Mistake(None, (), TOO_DEEP)]) from None


def _more(contents: Contents) -> Iterator[tuple[Place, str]]:
    """The mistakes that concern several tables."""
    if not contents.parameters:
        yield ("parameters",), "must have at least one table [parameters.NAME] with low and high"
    for name in contents.parameters:
        if not name.strip():
            yield ("parameters", name), "must have a name"
    columns = sum(len(table.choices or "1") for table in contents.parameters.values())
    if columns > MOST_COLUMNS:
        yield (
            ("parameters",),
            f"must have {MOST_COLUMNS} numbers and choices at most, since models take hours with "
            f"more, got {columns} together; leave out what matters least, or group choices by "
            "numbers that describe them",
        )
    yield from _wrong_with_names(contents)
    yield from _wrong_with_outcomes(contents)
    if contents.study.storage is not None:
        try:
            check_storage(contents.study.storage)
        except ValueError as error:
            yield ("study", "storage"), str(error)
    seen: set[str] = set()
    for i, joint in enumerate(contents.noise):
        place: Place = ("noise", i, "parameters")
        for name in sorted(seen & set(joint.parameters)):
            yield place, f"must be in one [[noise]] at most, but {name!r} is in another, too"
        seen |= set(joint.parameters)
        for name in joint.parameters:
            if name not in contents.parameters:
                yield place, f"are not known: {unknown('parameter', name, contents.parameters)}"
        if len(joint.parameters) < 2 or len(set(joint.parameters)) < len(joint.parameters):
            yield place, f"must name two or more, each once, got {list(joint.parameters)}"
    if isinstance(contents.objective, CommandObjective):
        yield from _wrong_with_command(contents.objective, contents.parameters)


def _wrong_with_names(contents: Contents) -> Iterator[tuple[Place, str]]:
    """Names that some database cannot keep: a study may move from one to another."""
    table = contents.study
    named: list[tuple[Place, str | None]] = [
        (("study", "name"), table.name),
        (("study", "value"), table.value),
        *((("study", "outcomes"), name) for name in table.outcomes),
        *((("parameters", name), name) for name in contents.parameters),
        *((("constraints", name), name) for name in contents.constraints),
    ]
    for place, name in named:
        if name is not None and len(name) > LONGEST_NAME:
            yield place, f"must be a name of at most {LONGEST_NAME} letters, got {len(name)}"
        if name is not None and "\0" in name:
            yield place, f"must be a name without the character NUL, got {shown(name)}"


def _wrong_with_outcomes(contents: Contents) -> Iterator[tuple[Place, str]]:
    own = contents.study.value
    places: dict[str, Place] = {name: ("constraints", name) for name in contents.constraints}
    places |= {
        name: ("study", "outcomes") for name in contents.study.outcomes if name not in places
    }
    for name, place in places.items():
        if name in contents.parameters:
            yield place, f"cannot be named {name!r}, as is a parameter; rename one of them"
        elif name in COLUMNS and not (name == VALUE and own is None):
            yield place, f"cannot be named {name!r}: CSV files have a column of that name"
        elif not name or name != name.strip() or name == EXECUTED:
            yield place, f"must have a name such as 'stress', got {name!r}"


def _wrong_with_command(
    objective: CommandObjective, parameters: Mapping[str, ParameterTable]
) -> Iterator[tuple[Place, str]]:
    names, place = list(parameters), ("objective", "command")
    observed = [name for name, parameter in parameters.items() if parameter.observed]
    free = [name for name in names if name not in observed]
    if objective.input == "arguments":
        handed: list[str] = []
        for i, argument in enumerate(objective.command):
            try:
                handed += check_arguments(argument, names, observed)
            except ValueError as error:
                yield (*place, i), str(error)
                return
        left = [name for name in free if name not in handed]
        if left:
            yield (
                place,
                f"must hand over every parameter, but {are([*map(repr, left)])} not in it; "
                f"write '{{{left[0]}}}' where its value belongs, or choose input = 'environment' "
                "or 'json'",
            )
        return
    for i, argument in enumerate(objective.command):
        for name in names:
            if f"{{{name}}}" in argument:
                yield (
                    (*place, i),
                    f"has a placeholder {{{name}}}, which goes with input = 'arguments' only, got "
                    f"{objective.input!r}",
                )
    if objective.input == "environment":
        try:
            check_variables(free)
        except ValueError as error:
            yield ("objective", "input"), str(error)
