"""Numbers as people read them: with their unit, and no more digits than are known."""

import math

from meseta.report.views.estimate import BAND, Between, Estimate
from meseta.space.parameter import Value

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NO-BREAK SPACE}"
PLUS_MINUS = f"{SPACE}±{SPACE}"
UNKNOWN = "not known"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN_POWERS = range(-4, 7)  # powers of ten that are written out
MOST_DIGITS = 7  # beyond, an uncertainty is below what anyone reads


def plain(value: float, digits: int = 5) -> str:
    """So many significant digits, without zeros at the end; whole numbers keep theirs."""
    if not math.isfinite(value):
        return UNKNOWN if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    if value == 0:
        return "0"
    power = _power(value, digits)
    if power in PLAIN_POWERS:
        return _trimmed(_fixed(value, max(0, digits - 1 - power)))
    return f"{_trimmed(_fixed(value / 10.0**power, digits - 1))}·{_ten_to(power)}"


def setting(value: Value, unit: str = "", digits: int = 6) -> str:
    """What a parameter is set to; choices as they are called."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return with_unit(_signed(str(value)) if isinstance(value, int) else plain(value, digits), unit)


def number(value: float, unit: str = "") -> str:
    return with_unit(plain(value), unit)


def estimate(belief: Estimate, unit: str = "") -> str:
    """1.838 ± 0.012 N: the half-width of the 95 % interval has two digits, and the mean its last.

    The mean alone where nothing is uncertain.
    """
    half = BAND * belief.std
    if not math.isfinite(belief.mean) or not math.isfinite(half):
        return with_unit(plain(belief.mean), unit)
    power = max((_power(v, 2) for v in (belief.mean, half) if v), default=0)
    place = _power(half, 2) - 1 if half else -math.inf  # of the last digit
    if place < power - MOST_DIGITS:
        return with_unit(plain(belief.mean, MOST_DIGITS), unit)
    shift = 0 if power in PLAIN_POWERS else power
    mean, width = (_rounded(v / 10.0**shift, int(place) - shift) for v in (belief.mean, half))
    if shift:
        return with_unit(f"({mean}{PLUS_MINUS}{width})·{_ten_to(shift)}", unit)
    return with_unit(f"{mean}{PLUS_MINUS}{width}", unit)


def interval(low: float, high: float, unit: str = "") -> str:
    """From where to where, with two digits of the width."""
    return with_unit(" to ".join(_alike(low, high, low=low, high=high)), unit)


def between(drawn: Between, unit: str = "") -> str:
    """12.3 (11.8 to 12.9)."""
    value, low, high = _alike(drawn.value, drawn.low, drawn.high, low=drawn.low, high=drawn.high)
    return with_unit(f"{value} ({low} to {high})", unit)


def percent(share: float) -> str:
    """Of a share: 97.1 %, and 99.97 % where a tenth would say all."""
    if not math.isfinite(share):
        return UNKNOWN
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", f"{SPACE}%")
    for decimals in (1, 2, 3):
        text = f"{100 * share:.{decimals}f}"
        if float(text) not in (0.0, 100.0):
            break
    return f"{_signed(text)}{SPACE}%"


def percent_between(drawn: Between) -> str:
    return f"{percent(drawn.value)} ({percent(drawn.low)} to {percent(drawn.high)})"


def with_unit(text: str, unit: str) -> str:
    return f"{text}{SPACE}{unit}" if unit else text


def _alike(*values: float, low: float, high: float) -> list[str]:
    """With the same number of decimals: those of an interval's width."""
    width = abs(high - low)
    if not math.isfinite(width) or not width:
        return [plain(value) for value in values]
    largest = max(abs(value) for value in values)
    power = _power(largest, 2) if largest else 0
    place = max(_power(width, 2) - 1, power - MOST_DIGITS)
    if power in PLAIN_POWERS:
        return [_rounded(value, place) for value in values]
    return [plain(value, max(2, power - place + 1)) for value in values]


def _power(value: float, digits: int) -> int:
    """Of ten, of the first digit once rounded to so many."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def _rounded(value: float, place: int) -> str:
    """To that power of ten."""
    return _fixed(round(value, -place), max(0, -place))


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return _signed(text) if float(text) else text.removeprefix("-")


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _signed(text: str) -> str:
    return text.replace("-", MINUS)


def _ten_to(power: int) -> str:
    return f"10{str(power).translate(RAISED)}"
