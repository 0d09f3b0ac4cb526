"""What users pass, read or refused: numbers, counts, names.

torch is not loaded here: study files are read by this, too, and are read fast.
"""

import math
import operator
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import currentframe
from numbers import Real
from typing import Any, SupportsIndex

import numpy as np

LONGEST_SHOWN = 80  # letters of a value in a message
LONGEST_TEXT = 2000  # letters of a message that is kept
LARGEST_WHOLE = 2**53  # up to here every whole number is a float
LARGEST_VALUE = 1e100  # of f: its square must still be a number
NOWHERE: Mapping[str, str] = {}
SEEDS = 2**63 - 1  # the largest seed that random generators take


def read_number(what: str, value: Any, remedy: str = "") -> float:
    """A finite number as a plain float; also from NumPy, and from arrays with one element."""
    number = _element(value)
    hint = f"; {remedy}" if remedy else ""
    if not isinstance(number, Real) or isinstance(number, (bool, np.bool_, np.timedelta64)):
        raise TypeError(f"{what} must be a number, got {shown(value)}{hint}")
    try:
        finite = float(number)
    except OverflowError:
        finite = math.inf
    if not math.isfinite(finite):
        raise ValueError(f"{what} must be finite, got {shown(value)}{hint}")
    return finite


EVERY = (-math.inf, math.inf)


def read_possible(possible: Any) -> tuple[float, float]:
    """The smallest and the largest value that f can have; either may be infinite."""
    if is_array(possible):
        possible = possible.tolist()
    expected = (
        "possible must be (smallest, largest), such as (0, math.inf) for what is not negative"
    )
    if not isinstance(possible, Sequence) or isinstance(possible, str) or len(possible) != 2:
        raise TypeError(f"{expected}, got {shown(possible)}")
    for end in possible:
        if isinstance(end, (bool, str)) or not isinstance(end, (int, float, np.number)):
            raise TypeError(f"{expected}, got {shown(possible)}")
    low, high = map(float, possible)
    if not low < high:
        raise ValueError(f"{expected}, got {shown(possible)}")
    return low, high


def read_value(
    value: object,
    what: str = "the value",
    remedy: str = "pass None if the evaluation failed",
    possible: tuple[float, float] = EVERY,
) -> float:
    """A value of f: a finite number that is possible, and not too large for the model."""
    number = read_number(what, value, remedy)
    if abs(number) > LARGEST_VALUE:
        hint = f"; {remedy}" if remedy else ""
        raise ValueError(
            f"{what} must be within ±{LARGEST_VALUE:g}, which the model can hold, got "
            f"{number}{hint}"
        )
    low, high = possible
    if not low <= number <= high:
        raise ValueError(
            f"{what} must lie between {low:g} and {high:g}, since no other is possible here, got "
            f"{number}; correct it, or possible={possible}"
        )
    return number


def is_array(value: Any) -> bool:
    """Whether it is an array of NumPy, or a tensor: there is none before torch is loaded."""
    torch = sys.modules.get("torch")
    return isinstance(value, np.ndarray) or (torch is not None and torch.is_tensor(value))


def _element(value: Any) -> Any:
    """The only element of an array; all else as it is, and so what is masked, or a duration."""
    if not is_array(value) or math.prod(value.shape) != 1 or np.ma.is_masked(value):
        return value
    return value if isinstance(value, np.ndarray) and value.dtype.kind == "m" else value.item()


def read_list(value: Any) -> list[Any] | None:
    """A list, tuple, array or series as a list; None: it is none of these."""
    pandas = sys.modules.get("pandas")
    if isinstance(value, str | bytes):
        return None
    if isinstance(value, Sequence) or (pandas is not None and isinstance(value, pandas.Series)):
        return list(value)
    return list(value) if is_array(value) and value.ndim else None


def read_count(what: str, value: object, least: int = 1, most: int | None = None) -> int:
    """A whole number that is neither too small nor too large."""
    number = _element(value)
    whole = isinstance(number, SupportsIndex) and not is_array(number)
    if not whole or isinstance(number, (bool, np.bool_, np.timedelta64)):
        raise TypeError(f"{what} must be a whole number, got {shown(value)}")
    count = operator.index(number)
    if count < least:
        raise ValueError(f"{what} must be at least {least}, got {count}")
    if most is not None and count > most:
        raise ValueError(f"{what} must be at most {most}, got {count}")
    return count


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """A text that is not too long to be kept and shown; it says how much was cut off."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}... (cut: {len(text)} letters in all)"


def shown(value: object) -> str:
    """A value for a message, no longer than fits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, deep lists
        text = "a very large value"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def described_error(error: BaseException) -> str:
    """An exception of the user's code: its class and its message, whatever that is."""
    try:
        text = str(error) or "without a message"
    except Exception:  # an exception that cannot even be shown
        text = "with a message that cannot be shown"
    return f"{type(error).__name__}: {cut(text)}"


def warn_user(sentence: str) -> None:
    """A warning that shows the line of the user's code that called the package."""
    level, frame = 1, currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("meseta."):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)


def missing(sentence: str, extra: str) -> RuntimeError:
    """A library that an extra brings is not there: what needs it, and what to type."""
    return RuntimeError(f"{sentence}; install it with: pip install 'meseta[{extra}]'")


def read_whole(what: str, value: object) -> int:
    """A whole number of either sign, small enough to be a float as well; 3.0 is one."""
    number = read_number(what, value)
    if number != round(number):
        raise ValueError(f"{what} must be a whole number, got {shown(value)}")
    if abs(number) > LARGEST_WHOLE:
        raise ValueError(f"{what} must lie within ±2**53, got {shown(value)}")
    return int(number)


def are(names: Sequence[str]) -> str:
    """Names with the verb that fits: "a is", "a, b are"."""
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def unknown(
    what: str, name: object, known: Iterable[object], elsewhere: Mapping[str, str] = NOWHERE
) -> str:
    """Says that a name is not known, which one may be meant, and which there are.

    `elsewhere` has what other libraries call so.
    """
    names = list(known)
    called = elsewhere.get(str(name))
    meant = called if called in names else closest(name, names)
    hint = "" if meant is None else f" (did you mean {meant!r}?)"
    return f"there is no {what} {shown(name)}{hint}, only {', '.join(map(repr, names)) or 'none'}"


def check_word(what: str, word: object, known: Sequence[str]) -> None:
    """Refuse what is none of the known words: another one, or no text at all."""
    if not isinstance(word, str) or word not in known:
        raise ValueError(unknown(what, word, known))


def closest(name: object, known: Iterable[object], cutoff: float = 0.5) -> object | None:
    """The known name that is spelled most like this one; None: it is like none of them."""
    lower = {str(each).lower(): each for each in known}
    found = get_close_matches(str(name).lower(), lower, n=1, cutoff=cutoff)
    return lower[found[0]] if found else None
