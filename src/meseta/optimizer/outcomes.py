"""The outcomes of an experiment: the value that is optimised, and others by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from meseta.boundary import EVERY, read_value, shown, unknown

if TYPE_CHECKING:  # torch, which processes that only evaluate have no use for
    from meseta.measures.constraints import Constraint

VALUE = "value"  # what is optimised, where it has no name of its own
EXECUTED = "executed"  # what was carried out, beside the outcomes of an evaluation
REMEDY = "pass None if it is not known"


class Told(NamedTuple):
    """What an experiment gave; value None: what is optimised is not known."""

    value: float | None
    others: dict[str, float]  # those that are known


class Corrected(NamedTuple):
    """The outcomes that a correction changes."""

    value: float | None  # of what is optimised; None: it stays, or there is none in fact
    failed: bool  # there is none in fact
    others: dict[str, float | None]  # None: not known in fact


@dataclass(frozen=True)
class Outcomes:
    """The names of all outcomes, and the constraints that some have to keep."""

    objective: str = VALUE
    names: tuple[str, ...] = ()  # all but the objective
    constraints: tuple[tuple[str, "Constraint"], ...] = ()

    @property
    def several(self) -> bool:
        return bool(self.names)

    @property
    def needed(self) -> tuple[str, ...]:
        """Those with constraints, but for the objective."""
        return tuple(name for name, _ in self.constraints if name != self.objective)

    def read(self, told: object, possible: tuple[float, float] = EVERY) -> Told:
        """What `tell` was given: a number, or a dict with a number or None for each outcome."""
        if told is None:
            return Told(None, {})
        if not isinstance(told, Mapping):
            if self.several:
                raise TypeError(
                    f"the outcomes must be told as a dict, such as {self.example()}, since there "
                    f"are several; got {shown(told)}; None is for one that is not known"
                )
            return Told(read_value(told, possible=possible), {})
        if not told:
            raise ValueError(
                f"the outcomes must be told as a dict, such as {self.example()}, got an empty one; "
                "pass None if the evaluation failed"
            )
        return self._read_named(told, possible)

    def _read_named(self, told: Mapping[Any, Any], possible: tuple[float, float]) -> Told:
        for name in told:
            if name not in (self.objective, VALUE, *self.names):
                raise ValueError(unknown("outcome", name, (self.objective, *self.names)))
        key = self.key_of(told)
        value = None if key is None else told[key]
        given = {name: told[name] for name in self.names if told.get(name) is not None}
        return Told(
            None if value is None else read_value(value, repr(key), REMEDY, possible),
            {name: read_value(each, repr(name), REMEDY) for name, each in given.items()},
        )

    def read_correction(self, said: object, possible: tuple[float, float] = EVERY) -> Corrected:
        """What a correction was given: a number, None, or a dict with the outcomes that change."""
        given = said if isinstance(said, Mapping) else {self.objective: said}
        told = self._read_named(given, possible)
        key = self.key_of(given)
        others = {name: told.others.get(name) for name in self.names if name in given}
        return Corrected(told.value, key is not None and told.value is None, others)

    def key_of(self, told: Mapping[Any, object]) -> str | None:
        """Under which name a dict has what is optimised; None: it has not."""
        if self.objective != VALUE and self.objective in told and VALUE in told:
            raise ValueError(
                f"there is both {self.objective!r} and {VALUE!r}, which are the same outcome; drop "
                "one of them"
            )
        return next((key for key in (self.objective, VALUE) if key in told), None)

    def example(self) -> str:
        """What an evaluation with all outcomes returns."""
        return "{" + ", ".join(f"{name!r}: ..." for name in (self.objective, *self.names)) + "}"


ONE = Outcomes()  # the value alone


def read_outcomes(objective: object, outcomes: object, constraints: object) -> Outcomes:
    """From the settings, as a user passes them."""
    _check_name("objective", objective)
    assert isinstance(objective, str)
    read = _read_constraints(constraints)
    if isinstance(outcomes, str) or not isinstance(outcomes, Sequence):
        raise TypeError(f"outcomes must be a list of names, got {shown(outcomes)}")
    for name in outcomes:
        _check_name("an outcome", name)
    names = dict.fromkeys((*(name for name, _ in read), *outcomes))
    if VALUE in names and objective != VALUE:
        raise ValueError(f"an outcome cannot be named {VALUE!r} beside {objective!r}; rename it")
    return Outcomes(objective, tuple(name for name in names if name != objective), read)


def _read_constraints(constraints: object) -> tuple[tuple[str, "Constraint"], ...]:
    from meseta.measures.constraints import Constraint

    expected = 'constraints must be a dict such as {"stress": meseta.AtMost(250)}'
    if isinstance(constraints, tuple) and all(isinstance(each, tuple) for each in constraints):
        constraints = dict(constraints)
    if not isinstance(constraints, Mapping):
        raise TypeError(f"{expected}, got {shown(constraints)}")
    for name, each in constraints.items():
        _check_name("a constrained outcome", name)
        if not isinstance(each, Constraint):
            raise TypeError(
                f"the constraint on {name!r} must be meseta.AtMost(250), AtLeast or Between, got "
                f"{shown(each)}"
            )
    return tuple(constraints.items())


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name or name != name.strip():
        raise TypeError(f"{what} must be a name such as 'stress', got {shown(name)}")
    if name == EXECUTED:
        raise ValueError(f"{what} cannot be named {EXECUTED!r}, which says what was carried out")
