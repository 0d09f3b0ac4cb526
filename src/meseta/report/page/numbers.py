"""Numbers as text, with their unit and only the digits that are known."""

import math

from meseta.report.views.estimate import BAND, Estimate, SampledEstimate
from meseta.space.parameter import Value

MINUS = "\N{MINUS SIGN}"
SPACE = "\N{NO-BREAK SPACE}"
PLUS_MINUS = f"{SPACE}±{SPACE}"
UNKNOWN = "not known"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN_POWERS = range(-4, 7)  # powers of ten without an exponent
MOST_DIGITS = 7  # smaller uncertainties are not shown


def plain(value: float, digits: int = 5) -> str:
    """A number with this many significant digits, without zeros after the last decimal."""
    if not math.isfinite(value):
        return UNKNOWN if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    if value == 0:
        return "0"
    power = _power(value, digits)
    if power in PLAIN_POWERS:
        return _trimmed(_fixed(value, max(0, digits - 1 - power)))
    return f"{_trimmed(_fixed(value / 10.0**power, digits - 1))}·{_ten_to(power)}"


def setting(value: Value, unit: str = "", digits: int = 6) -> str:
    """The value of a parameter; a choice is shown by its name."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return with_unit(_signed(str(value)) if isinstance(value, int) else plain(value, digits), unit)


def number(value: float, unit: str = "") -> str:
    return with_unit(plain(value), unit)


def estimate(belief: Estimate, unit: str = "") -> str:
    """1.838 ± 0.012 N: the mean and the half-width of the 95 % interval.

    The half-width has two digits, and both end at the same decimal. Without uncertainty, the mean
    stands alone.
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
    """11.8 to 12.9: both ends, with two digits of the width."""
    return with_unit(" to ".join(_alike(low, high, low=low, high=high)), unit)


def with_interval(drawn: SampledEstimate, unit: str = "") -> str:
    """12.3 (11.8 to 12.9): a value and its 95 % interval."""
    value, low, high = _alike(drawn.value, drawn.low, drawn.high, low=drawn.low, high=drawn.high)
    return with_unit(f"{value} ({low} to {high})", unit)


def percent(share: float) -> str:
    """A share in per cent: 97.1 %, or 99.97 % where one decimal would give 100 %."""
    if not math.isfinite(share):
        return UNKNOWN
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", f"{SPACE}%")
    for decimals in (1, 2, 3):
        text = f"{100 * share:.{decimals}f}"
        if float(text) not in (0.0, 100.0):
            return f"{_signed(text)}{SPACE}%"
    return f"{'over 99.999' if share > 0.5 else 'below 0.001'}{SPACE}%"


def percent_with_interval(drawn: SampledEstimate) -> str:
    return f"{percent(drawn.value)} ({percent(drawn.low)} to {percent(drawn.high)})"


def ppm_with_interval(share: SampledEstimate) -> str:
    """A small share in parts per million: 63 ppm (12 to 210)."""
    value, low, high = (ppm(each) for each in (share.value, share.low, share.high))
    return f"{value}{SPACE}ppm ({low} to {high})"


def ppm(share: float) -> str:
    """A share in parts per million: two digits, and thousands apart."""
    value = 1e6 * share
    return plain(value, 2) if value < 100 else f"{float(f'{value:.1e}'):,.0f}".replace(",", SPACE)


def index_with_interval(index: SampledEstimate) -> str:
    """An index of capability: 1.41 (1.32 to 1.50)."""
    value, low, high = (_index(each) for each in (index.value, index.low, index.high))
    return f"{value} ({low} to {high})"


def _index(value: float) -> str:
    if not math.isfinite(value):
        return plain(value)
    return _fixed(value, 2) if abs(value) < 100 else plain(value, 3)


def with_unit(text: str, unit: str) -> str:
    return f"{text}{SPACE}{unit}" if unit else text


def _alike(*values: float, low: float, high: float) -> list[str]:
    """Values with the same number of decimals, which suits the width of the interval."""
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
    """The power of ten of the first digit, after rounding to this number of digits."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def _rounded(value: float, place: int) -> str:
    """A number rounded to a power of ten."""
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
