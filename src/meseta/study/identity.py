"""Whether an experiment is one that is kept already: what was carried out, and what came of it."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import executed_of, outcomes_of, versions
from meseta.space.parameter import Parameter
from meseta.study.digits import FEWEST, is_same

T = TypeVar("T")


class Identity(NamedTuple):
    """What tells experiments apart."""

    carried_out: dict[str, Any]
    value: float | None
    others: dict[str, float]
    failed: bool

    @property
    def rough(self) -> Hashable:
        """The same for all that are the same but for rounding, and for few others."""
        return (
            *((name, _rough(value)) for name, value in sorted(self.carried_out.items())),
            _rough(self.value),
            *((name, _rough(value)) for name, value in sorted(self.others.items())),
            self.failed,
        )


def identity(trial: FrozenTrial, unknown: Sequence[str] = ()) -> Identity:
    """The identity of a finished trial; the parameters of `unknown` count if they are told."""
    planned = {name: value for name, value in trial.params.items() if name not in unknown}
    failed = trial.state != TrialState.COMPLETE
    value = None if failed else trial.value
    return Identity({**planned, **executed_of(trial)}, value, outcomes_of(trial), failed)


def is_same_experiment(
    kept: Identity, given: Identity, parameters: Mapping[str, Parameter]
) -> bool:
    """Whether an experiment is the kept one; spreadsheets may have rounded its numbers."""
    return (
        kept.failed == given.failed
        and kept.carried_out.keys() == given.carried_out.keys()
        and kept.others.keys() == given.others.keys()
        and is_same(kept.value, given.value)
        and all(is_same(kept.others[name], each) for name, each in given.others.items())
        and all(
            is_same(kept.carried_out[name], each, parameters.get(name))
            for name, each in given.carried_out.items()
        )
    )


class _Version(NamedTuple):
    """What a trial says, or said before it was put right."""

    number: int
    identity: Identity
    present: bool


class Experiments:
    """Experiments that are kept. A repeated one counts as often as it was done."""

    def __init__(
        self,
        trials: Iterable[FrozenTrial],
        parameters: Mapping[str, Parameter],
        unknown: Sequence[str] = (),
    ) -> None:
        self._parameters = parameters
        self._kept: dict[Hashable, list[_Version]] = defaultdict(list)
        self._taken: set[int] = set()
        for trial in trials:
            for each in versions(trial):
                own = identity(each, unknown)
                self._kept[own.rough].append(_Version(trial.number, own, each is trial))

    def without(
        self, several: Sequence[T], identity_of: Callable[[T], Identity]
    ) -> tuple[list[T], int]:
        """Those that are not kept, and how many are kept as they were before a correction alone.

        The same number is looked for before a rounded one, what holds now before what was.
        """
        left = [(each, identity_of(each)) for each in several]
        outdated = 0
        for is_found in (Identity.__eq__, self._is_rounded):
            for present in (True, False):
                num = len(left)
                left = [(each, own) for each, own in left if not self._take(own, is_found, present)]
                outdated += 0 if present else num - len(left)
        return [each for each, _ in left], outdated

    def _take(
        self, given: Identity, is_found: Callable[[Identity, Identity], bool], present: bool
    ) -> bool:
        for number, kept, holds in self._kept[given.rough]:
            if number not in self._taken and holds == present and is_found(kept, given):
                self._taken.add(number)
                return True
        return False

    def _is_rounded(self, kept: Identity, given: Identity) -> bool:
        return is_same_experiment(kept, given, self._parameters)


def _rough(value: Any) -> Hashable:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return f"{value + 0.0:.{FEWEST}g}"
