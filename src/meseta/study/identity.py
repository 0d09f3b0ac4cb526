"""Whether an experiment is one that is kept already: what was carried out, and what came of it."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from optuna.trial import FrozenTrial, TrialState

from meseta.integrations.optuna.attributes import EXECUTED, OUTCOMES
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
    executed, others = (trial.user_attrs.get(key) or {} for key in (EXECUTED, OUTCOMES))
    failed = trial.state != TrialState.COMPLETE
    return Identity({**planned, **executed}, None if failed else trial.value, dict(others), failed)


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


class Experiments:
    """Experiments that are kept. A repeated one counts as often as it was done."""

    def __init__(self, kept: Iterable[Identity], parameters: Mapping[str, Parameter]) -> None:
        self._parameters = parameters
        self._kept: dict[Hashable, list[Identity]] = defaultdict(list)
        for each in kept:
            self._kept[each.rough].append(each)

    def without(self, several: Sequence[T], identity_of: Callable[[T], Identity]) -> list[T]:
        """Those that are not kept; the same number is looked for before a rounded one."""
        left = [(each, identity_of(each)) for each in several]
        for is_found in (Identity.__eq__, self._is_rounded):
            left = [(each, own) for each, own in left if not self._take(own, is_found)]
        return [each for each, _ in left]

    def _take(self, given: Identity, is_found: Callable[[Identity, Identity], bool]) -> bool:
        candidates = self._kept[given.rough]
        for place, kept in enumerate(candidates):
            if is_found(kept, given):
                del candidates[place]
                return True
        return False

    def _is_rounded(self, kept: Identity, given: Identity) -> bool:
        return is_same_experiment(kept, given, self._parameters)


def _rough(value: Any) -> Hashable:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return f"{value + 0.0:.{FEWEST}g}"
