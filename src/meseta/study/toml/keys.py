"""The tables of a study file, as they are written; `file.py` makes a study of them."""

import math
import re
import shlex
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from meseta.boundary import SEEDS, read_possible, shown
from meseta.optimizer.evaluation import GIVE_UP
from meseta.optimizer.precision import EXPECTED, VARIES, read_scatter
from meseta.space.parameter import Categorical, Float, Int, Parameter
from meseta.space.price import EXAMPLE, Price, read_price
from meseta.study.toml.noise_keys import JointNoise, OwnNoise
from meseta.study.toml.sentences import not_among
from meseta.study.toml.short_noise import FORMS, read_short, read_short_number
from meseta.study.toml.table import Table, Text, Texts, refusal

SPREADS = ("sobol", "uniform")


def _initial(initial: object) -> object:
    """A word, or a list of designs, which are looked at when the parameters are known."""
    if isinstance(initial, str) and initial not in SPREADS:
        raise refusal(not_among("value", initial, SPREADS))
    designs = isinstance(initial, list) and all(isinstance(each, dict) for each in initial)
    if not isinstance(initial, str) and not (initial and designs):
        raise refusal(
            f"must be one of {', '.join(map(repr, SPREADS))}, or a list of designs such as "
            f"[{{ angle = 20.0 }}], got {shown(initial)}"
        )
    return initial


def _possible(possible: object) -> tuple[float, float]:
    """Unlike all other numbers in a file, these may be infinite."""
    try:
        return read_possible(possible)
    except (TypeError, ValueError):
        raise refusal(
            "must be [smallest, largest], such as [0, inf] for what cannot be negative, got "
            f"{shown(possible)}"
        ) from None


def _measure(measure: object) -> object:
    """Its words, looked at by what reads them in Python, too."""
    if not isinstance(measure, str):
        raise refusal(f'must be words such as "quantile 0.05", got {shown(measure)}')
    return measure


def _noise_variance(variance: object) -> float | str:
    """A number, or the word for one that depends on the design."""
    if variance == VARIES:
        return VARIES
    if not isinstance(variance, bool) and isinstance(variance, int | float):
        number = float(variance)
    else:
        number = math.nan
    if 0 <= number < math.inf:
        return number
    raise refusal(
        f'must be a variance, not negative, or "{VARIES}" if it depends on the design, got '
        f"{shown(variance)}"
    )


def _scatter_in_use(scatter: object) -> object:
    """One for all outcomes, or a table by their names, which are looked at with the others."""
    try:
        return read_scatter(scatter, tuple(scatter) if isinstance(scatter, dict) else ())
    except (TypeError, ValueError):
        raise refusal(
            f"must be {EXPECTED}, or a table of these by outcome, got {shown(scatter)}"
        ) from None


def _allowed(allowed: object) -> object:
    """One inequality, or a list of them; looked at when the parameters are known."""
    return [allowed] if isinstance(allowed, str) else allowed


class SettingsKeys(Table):
    """The settings of an optimizer that a file may have; what is left out has its default."""

    direction: Literal["maximize", "minimize"] = "maximize"
    method: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    kernel: Literal["auto", "se", "matern52", "matern32"] | None = None
    prior: Literal["default", "paper"] | None = None
    measure: Annotated[str, BeforeValidator(_measure)] | None = None
    allowed: Annotated[Texts, BeforeValidator(_allowed)] | None = None
    possible: Annotated[Any, BeforeValidator(_possible)] = None
    verify: int | None = Field(default=None, ge=0)
    give_up: int = Field(default=GIVE_UP, ge=0)
    noise_variance: Annotated[float | str | None, BeforeValidator(_noise_variance)] = None
    scatter_in_use: Annotated[Any, BeforeValidator(_scatter_in_use)] = None
    executed: Literal["known", "unseen"] | None = None
    seed: int = Field(default=0, ge=0, le=SEEDS)
    num_initial: int | None = Field(default=None, ge=1)
    initial: Annotated[str | list[dict[str, Any]] | None, BeforeValidator(_initial)] = None


class ConstraintTable(Table):
    """Limits of an outcome, and how often they have to be kept in use."""

    at_least: float | None = None
    at_most: float | None = None
    probability: float | None = None
    unit: Text | None = None
    note: str = ""

    @model_validator(mode="after")
    def _some_limit(self) -> "ConstraintTable":
        if self.at_least is None and self.at_most is None:
            raise refusal("must have at_most = ..., at_least = ..., or both")
        return self


class StudyTable(SettingsKeys):
    name: Text | None = None
    budget: int | None = Field(default=None, ge=1)
    storage: Text | None = None
    notes: str = ""
    value: Text | None = None  # what is measured
    unit: Text | None = None  # the unit of the value
    outcomes: Texts = ()  # further ones, which have no constraint
    at_least: float | None = None
    at_most: float | None = None
    target: float | None = None
    probability: float | None = None

    @model_validator(mode="after")
    def _limits(self) -> "StudyTable":
        said = [key for key in ("target", "probability") if getattr(self, key) is not None]
        if said and self.at_least is None and self.at_most is None:
            raise refusal("needs limits to be met: add at_least = ..., at_most = ...", said[0])
        if self.at_least is not None and self.at_most is not None and self.at_least >= self.at_most:
            raise refusal(
                f"must be greater than at_least = {self.at_least:g}, got {self.at_most:g}",
                "at_most",
            )
        low, high = self.at_least, self.at_most
        if self.target is not None and not (
            (low is None or low <= self.target) and (high is None or self.target <= high)
        ):
            raise refusal(f"must lie between the limits, got {self.target:g}", "target")
        return self


Timeout = Annotated[float, Field(gt=0)]  # seconds


class PythonObjective(Table):
    """A function that takes a dict of parameters and returns a number."""

    python: str
    timeout: Timeout | None = None

    @field_validator("python")
    @classmethod
    def _module_and_function(cls, python: str) -> str:
        if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", python):
            return python
        file = re.fullmatch(r"(?:\./)?([\w/]+)\.py(?::(\w+))?", python)
        meant = f"{file[1].replace('/', '.')}:{file[2] or 'function'}" if file else ""
        hint = f"; write {meant!r}" if meant else ""
        raise refusal(f"must be 'module:function', such as 'press:force', got {python!r}{hint}")

    @property
    def module(self) -> str:
        return self.python.split(":")[0]

    @property
    def function(self) -> str:
        return self.python.split(":")[1]


class CommandObjective(Table):
    """A program that is started for each trial, never by a shell."""

    command: Texts
    input: Literal["arguments", "environment", "json"] = "arguments"
    output: Literal["last-line", "json"] = "last-line"
    key: Text = "value"
    timeout: Timeout | None = None
    directory: Text | None = None

    @field_validator("command", mode="before")
    @classmethod
    def _list(cls, command: Any) -> Any:
        if isinstance(command, str):
            raise refusal(
                "must be a list, since it is not run by a shell, got a text; you probably mean "
                f"{_split(command)}"
            )
        if isinstance(command, list):
            if not command or command[0] == "":
                raise refusal("must start with a program, such as ['./simulate', '{angle}']")
            if any(isinstance(part, str) and "\0" in part for part in command):
                raise refusal("must not contain the character 0, which no program can be given")
        return command


def _choice(value: object) -> object:
    if not isinstance(value, str | bool | int | float):
        raise refusal(f"must be a text, a number, true or false, got {shown(value)}")
    return value


Choice = Annotated[Any, BeforeValidator(_choice)]


def _cost(cost: object) -> object:
    """A formula, or a table of grades; looked at together with the widths."""
    if not isinstance(cost, str | dict):
        raise refusal(f"must be a formula such as {EXAMPLE}, got {shown(cost)}")
    return cost


class ParameterTable(Table):
    low: float | None = None
    high: float | None = None
    type: Literal["float", "int", "category"] | None = None
    log: bool = False
    step: float | None = None
    evaluate: Annotated[tuple[float, float], Field(strict=False)] | None = None
    choices: Annotated[tuple[Choice, ...], Field(strict=False)] | None = None
    unit: Text | None = None
    noise: OwnNoise | None = None
    edge: Literal["allow", "clip", "reflect", "truncate"] | None = None
    cost: Annotated[Any, BeforeValidator(_cost)] = None
    width: Annotated[tuple[float, float], Field(strict=False)] | None = None
    note: str = ""

    @model_validator(mode="after")
    def _price(self) -> "ParameterTable":
        if self.cost is None:
            if self.width is not None:
                raise refusal("goes with cost = ..., which says what a width costs", "width")
            return self
        if self.noise is None:
            raise refusal("is what a tolerance costs, but there is no noise = ...", "cost")
        try:
            self.price()
        except (TypeError, ValueError) as error:
            raise refusal(str(error), "cost") from None
        return self

    def price(self) -> Price | None:
        """What the tolerance costs; None: nothing is said."""
        return None if self.cost is None else read_price(self.cost, self.width)

    @model_validator(mode="before")
    @classmethod
    def _short_noise(cls, table: Any) -> Any:
        """Replace texts and numbers by the tables they stand for."""
        if not isinstance(table, dict) or "noise" not in table:
            return table
        noise, choices = table["noise"], "choices" in table
        if isinstance(noise, str):
            unit = table.get("unit")
            try:
                short = read_short(noise, unit if isinstance(unit, str) else None, choices)
            except ValueError as error:
                raise refusal(str(error), "noise") from None
        elif isinstance(noise, (int, float)) and not isinstance(noise, bool):
            short = read_short_number(noise, choices)
        elif isinstance(noise, dict):
            short = noise
        else:
            raise refusal(f"must be {FORMS}, got {shown(noise)}", "noise")
        return {**table, "noise": short}

    @model_validator(mode="after")
    def _complete(self) -> "ParameterTable":
        if self.choices is None:
            for end in ("low", "high"):
                if getattr(self, end) is None:
                    raise refusal(
                        f"must have low and high, or choices = [...], but there is no {end}"
                    )
            if self.type == "category":
                raise refusal("is 'category', which needs choices = [...]", "type")
            self._check_order()
            return self
        for key in ("low", "high", "step", "log", "evaluate"):
            if getattr(self, key):
                raise refusal("does not go with choices; leave one of them out", key)
        if self.type not in (None, "category"):
            raise refusal(f"is {self.type!r}, which does not go with choices; leave it out", "type")
        return self

    def _check_order(self) -> None:
        if self.low is not None and self.high is not None and not self.low < self.high:
            remedy = "leave a fixed parameter out" if self.low == self.high else "swap them"
            raise refusal(
                f"must be greater than low = {self.low:g}, got {self.high:g}; {remedy}", "high"
            )

    def parameter(self) -> Parameter:
        """The parameter that the table describes; a ValueError refuses its range."""
        if self.choices is not None:
            return Categorical(self.choices)
        assert self.low is not None
        assert self.high is not None
        if self.type == "int":
            if self.evaluate is not None:
                raise ValueError("whole numbers have no evaluate; leave type or evaluate out")
            step = 1 if self.step is None else self.step
            return Int(self.low, self.high, log=self.log, step=step)
        return Float(self.low, self.high, log=self.log, step=self.step, evaluate=self.evaluate)

    @property
    def environment(self) -> bool:
        """Whether the parameter is no part of the design."""
        return getattr(self.noise, "environment", False) or self.observed

    @property
    def observed(self) -> bool:
        """Whether the parameter cannot be set even in an experiment."""
        return getattr(self.noise, "observed", False)


def _one_of_both(table: Any) -> Any:
    if not isinstance(table, dict):
        raise refusal(f'must be a table with python = "..." or command = [...], got {shown(table)}')
    if ("python" in table) == ("command" in table):
        came = "both" if "python" in table else "neither"
        raise refusal(
            'must have either python = "module:function" or command = ["./simulate", "{angle}"], '
            f"got {came}; without an objective, for trials by hand, leave the whole table out"
        )
    return table


def _kind(table: Any) -> str:
    if isinstance(table, Table):
        return "<python>" if isinstance(table, PythonObjective) else "<command>"
    return "<python>" if "python" in table else "<command>"


Objective = PythonObjective | CommandObjective
_Objective = Annotated[
    Annotated[PythonObjective, Tag("<python>")] | Annotated[CommandObjective, Tag("<command>")],
    Discriminator(_kind),
    BeforeValidator(_one_of_both),
]


class Contents(Table):
    """A whole file."""

    version: int = Field(default=1, ge=1)
    study: StudyTable = StudyTable()
    objective: _Objective | None = None
    parameters: dict[str, ParameterTable]
    constraints: dict[str, ConstraintTable] = Field(default_factory=dict)
    columns: dict[str, Text] = Field(default_factory=dict)  # other names in tables, and the known
    noise: Annotated[tuple[JointNoise, ...], Field(strict=False)] = ()


def _split(command: str) -> list[str] | str:
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return command.split()
