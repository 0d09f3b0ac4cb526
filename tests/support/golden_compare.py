"""What differs between the figures of two revisions, as `golden_play.py` writes them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

GIVEN = 1e-9  # figures at given designs, relative to the spread of the told values
SAME_DESIGN = 1e-6  # shares of the range
EQUALLY_GOOD = 1e-9  # values of what designs are chosen for
FOUND = 1e-5  # figures at designs that were searched for, which may be apart by SAME_DESIGN
EFFORT = {"evaluations", "unfinished"}  # how long a search took is no answer
MISSING = "missing"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Moved:
    """A figure that differs."""

    figure: str
    old: Any
    new: Any

    @property
    def difference(self) -> float | None:
        """None: they are no numbers."""
        numbers = _is_number(self.old) and _is_number(self.new)
        return self.new - self.old if numbers else None

    def __str__(self) -> str:
        by = "" if self.difference is None else f"  by {self.difference:+.2g}"
        return f"{self.figure}: {_short(self.old)} -> {_short(self.new)}{by}"


@dataclass
class Compared:
    """What became of a case."""

    moved: list[Moved] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)  # what was not compared, and why
    compared: int = 0  # figures


def compared(old: Mapping[str, Any], new: Mapping[str, Any], case: Any) -> Compared:
    """Compare all figures of a case, which knows its `spread` and the `widths` of its ranges."""
    found = Compared()
    refused = old.get("given", {}).get("refused")
    if refused is not None and refused == new.get("given", {}).get("refused"):
        found.aside.append(f"both refuse it: {refused}")
    _compare_part(found, "given", old, new, GIVEN, case)
    _compare_designs(found, old.get("designs", {}), new.get("designs", {}), case)
    elsewhere = [name for name in ("recommend", "nominal") if f"{name}: {TIE}" in found.aside]
    if elsewhere and "printed" in new:
        found.aside.append(f"what commands say, since they also {' and '.join(elsewhere)}")
    elif not elsewhere:
        _compare_part(found, "printed", old, new, FOUND, case)
    return found


def _compare_part(
    found: Compared,
    part: str,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    tolerance: float,
    case: Any,
) -> None:
    _compare(found, part, old.get(part, {}), new.get(part, {}), tolerance, case.spread)


TIE = "another design, which is equally good; its figures are not compared"


def _compare_designs(
    found: Compared, old: Mapping[str, Any], new: Mapping[str, Any], case: Any
) -> None:
    apart = False  # whether one of a batch differs, so that the next follow another history
    for name in dict.fromkeys((*old, *new)):
        if name.startswith("ask") and apart:
            found.aside.append(f"{name}: follows another design")
            continue
        if name not in old or name not in new:
            _add(found, name, old.get(name, MISSING), new.get(name, MISSING))
            continue
        one, other = old[name], new[name]
        found.compared += 1
        if _same_design(one["params"], other["params"], case.widths):
            _compare(found, f"{name}.worth", one["worth"], other["worth"], FOUND, case.spread)
            _compare(found, name, one["figures"], other["figures"], FOUND, case.spread)
            continue
        apart = apart or name.startswith("ask")
        if _equally_good(one["worth"], other["worth"]):
            found.aside.append(f"{name}: {TIE}")
            continue
        for key in dict.fromkeys((*one["params"], *other["params"])):
            before, now = (each["params"].get(key, MISSING) for each in (one, other))
            if before != now:
                found.moved.append(Moved(f"{name}.{key}", before, now))
        if one["worth"] != other["worth"]:
            found.moved.append(Moved(f"{name}.worth", one["worth"], other["worth"]))


def _same_design(
    old: Mapping[str, Any], new: Mapping[str, Any], widths: Mapping[str, float]
) -> bool:
    return old.keys() == new.keys() and all(
        abs(old[name] - new[name]) <= SAME_DESIGN * widths[name]
        if name in widths
        else old[name] == new[name]
        for name in old
    )


def _equally_good(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return False
    return abs(old - new) <= EQUALLY_GOOD * max(1.0, abs(old))


def _compare(
    found: Compared, figure: str, old: Any, new: Any, tolerance: float, spread: float
) -> None:
    """Compare two figures, or all that are in two containers."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            pair = old.get(key, MISSING), new.get(key, MISSING)
            if key not in EFFORT:
                _compare(found, f"{figure}.{key}", *pair, tolerance, spread)
        return
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        if all(map(_is_number, (*old, *new))):
            _compare_numbers(found, figure, old, new, tolerance, spread)
            return
        for place, pair in enumerate(zip(old, new, strict=True)):
            _compare(found, f"{figure}[{place}]", *pair, tolerance, spread)
        return
    found.compared += 1
    if isinstance(old, list) and isinstance(new, list):
        _add(found, f"{figure}, how many", len(old), len(new))
    elif _is_number(old) and _is_number(new):
        if not _close(old, new, tolerance, spread):
            _add(found, figure, old, new)
    elif isinstance(old, str) and isinstance(new, str):
        if not _same_text(old, new):
            _add(found, figure, old, new)
    elif old != new or type(old) is not type(new):
        _add(found, figure, old, new)


def _compare_numbers(
    found: Compared,
    figure: str,
    old: Sequence[float],
    new: Sequence[float],
    tolerance: float,
    spread: float,
) -> None:
    """Compare many numbers: the one that is furthest off speaks for all."""
    found.compared += len(old)
    scale = max((spread, *map(abs, old))) if tolerance == FOUND else spread
    off = [i for i in range(len(old)) if not _close(old[i], new[i], tolerance, scale)]
    if not off:
        return
    worst = max(off, key=lambda i: abs(new[i] - old[i]))
    others = f" (and {len(off) - 1} more)" if len(off) > 1 else ""
    _add(found, f"{figure}[{worst}]{others}", old[worst], new[worst])


def _close(old: float, new: float, tolerance: float, spread: float) -> bool:
    scale = max(spread, abs(old)) if tolerance == FOUND else spread
    return abs(new - old) <= tolerance * scale


def _same_text(old: str, new: str) -> bool:
    """Whether two texts are equal but for one unit of the last digit that a number shows."""
    if old == new:
        return True
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(abs(float(b) - float(a)) <= 1.001 * _unit(a, b) for a, b in pairs)


def _unit(*numbers: str) -> float:
    """What the last digit of numbers stands for, 0 being left out; nothing of whole ones."""
    units = []
    for number in numbers:
        digits, _, power = number.partition("e")
        _, point, decimals = digits.partition(".")
        units += [10.0 ** (int(power or 0) - len(decimals))] if point or power else []
    return min(units, default=0.0)


def _add(found: Compared, figure: str, old: Any, new: Any) -> None:
    found.moved.append(Moved(figure, old, new))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 160 else f"{text[:157]}..."


def lines(name: str, result: Compared) -> Iterator[str]:
    """What to say of a case: nothing, where all is equal."""
    if result.moved or result.aside:
        yield name
    yield from (f"  {each}" for each in result.moved)
    yield from (f"  not compared: {each}" for each in result.aside)


def summary(results: Mapping[str, Compared]) -> Iterator[str]:
    """A line for each case that moved, and one for all."""
    moved = {name: each for name, each in results.items() if each.moved}
    for name, each in moved.items():
        number = len(each.moved)
        yield f"moved  {name}: {number} figure{'s' if number > 1 else ''} of {each.compared}"
    figures = sum(each.compared for each in results.values())
    equal = len(results) - len(moved)
    yield f"{equal} of {len(results)} cases did not move, {figures} figures were compared"
