"""f, called once, here or by a worker: what came of it, in a form that travels.

Processes that only evaluate load this file: it does without torch.
"""

import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from meseta.boundary import cut, described_error, read_value, shown
from meseta.optimizer.evaluation import Evaluation, EvaluationFailed, read_evaluation
from meseta.optimizer.forks import in_one_process
from meseta.optimizer.outcomes import Outcomes

Objective = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, eq=False)
class Called:
    """What f gave, read where it was called, or the exception that it raised.

    Between processes only plain values travel. An exception that cannot be pickled arrives as
    `EvaluationFailed` with the same reason.
    """

    evaluation: Evaluation | None
    error: BaseException | None = None
    reason: str = ""  # why there is no evaluation
    ends: bool = False  # the run, as KeyboardInterrupt does; other exceptions are failures

    def __reduce__(self) -> tuple[Callable[..., "Called"], tuple[object, ...]]:
        return _unpacked, (self.evaluation, _packed(self.error), self.reason, self.ends)


def called(f: Objective, params: Mapping[str, Any], outcomes: Outcomes, key: str = "") -> Called:
    """Call f and read its result; whatever f raises is returned.

    The key belongs to this call alone: clusters take calls with the same arguments for the same.
    """
    try:
        with in_one_process():
            result = f(dict(params))
        return Called(_read(result, outcomes))
    except BaseException as error:
        return failed(error)


def arrived(f: Objective, outcomes: Outcomes, key: str) -> None:
    """Nothing is called: whoever runs this has got f."""


def failed(error: BaseException) -> Called:
    reason = described_error(error)
    if isinstance(error, SystemExit):
        reason = f"f called sys.exit({shown(error.code)})"
    return Called(None, error, reason, ends=not isinstance(error, (Exception, SystemExit)))


def _read(result: object, outcomes: Outcomes) -> Evaluation:
    """What f returned: outcomes, and what was carried out where it says so."""
    if isinstance(result, Mapping):
        return read_evaluation(result, "the result of f", outcomes)
    if result is None:
        return Evaluation(None)
    return Evaluation(read_value(result, "the value of f", remedy=""), absent=outcomes.names)


def _packed(error: BaseException | None) -> bytes | None:
    """An exception with its traceback as a note; None: it cannot be pickled."""
    if error is None:
        return None
    try:
        error.add_note(f"In the worker:\n{cut(''.join(traceback.format_exception(error)))}")
        return pickle.dumps(error)
    except Exception:
        return None


def _unpacked(
    evaluation: Evaluation | None, packed: bytes | None, reason: str, ends: bool
) -> Called:
    if evaluation is not None:
        return Called(evaluation)
    error: object = None
    try:
        error = None if packed is None else pickle.loads(packed)
    except Exception:  # many exceptions can be pickled, but not made again from that
        error = None
    if not isinstance(error, BaseException):
        error = EvaluationFailed(reason)
    return Called(None, error, reason, ends)
