"""Numbers as people write them: 0.82 or 0,82, and 1,234.5 or 1.234,5.

A number such as 1,234 may be 1.234 or 1234. The numbers beside it decide; if they say nothing, it
is refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Mark = Literal[".", ","]
Ends = tuple[float, float]
OTHER: dict[Mark, Mark] = {".": ",", ",": "."}
WORDS: dict[Mark, str] = {".": "point", ",": "comma"}
_NUMBER = re.compile(r"([+-]?)([\d.,]*\d[\d.,]*)([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS: dict[Mark, re.Pattern[str]] = {
    ".": re.compile(r"[1-9]\d{0,2}(\.\d{3})+"),
    ",": re.compile(r"[1-9]\d{0,2}(,\d{3})+"),
}


class Numeral(NamedTuple):
    """A text that can be a number."""

    sign: str
    digits: str
    power: str
    mark: Mark | None  # the decimal mark; None: there is none
    sure: bool = True  # False: the mark may as well separate thousands

    def plain(self, mark: Mark | None) -> str:
        """The number as programs write it, if this is its decimal mark."""
        digits = self.digits if mark is None else self.digits.replace(OTHER[mark], "")
        return f"{self.sign}{digits.replace(',', '.')}{self.power}"

    @property
    def grouped(self) -> bool:
        """Whether it has separators of thousands."""
        return self.mark is not None and OTHER[self.mark] in self.digits


def numeral(text: str) -> Numeral | None:
    """The number that a text can be; None: it can be none."""
    found = _NUMBER.fullmatch(text.strip().replace("\u2212", "-"))
    if found is None:
        return None
    sign, digits, power = found[1], found[2], found[3] or ""
    last: Mark = "," if digits.rfind(",") > digits.rfind(".") else "."
    if last not in digits:
        return Numeral(sign, digits, power, None)
    if OTHER[last] in digits:
        thousands = _are_thousands(digits.rpartition(last)[0], OTHER[last])
        return Numeral(sign, digits, power, last) if thousands else None
    thousands = _are_thousands(digits, last)
    if digits.count(last) == 1:
        return Numeral(sign, digits, power, last, sure=not thousands or power != "")
    return Numeral(sign, digits, power, OTHER[last]) if thousands else None


def _are_thousands(digits: str, mark: Mark) -> bool:
    """Whether a mark separates thousands."""
    return _THOUSANDS[mark].fullmatch(digits) is not None


class Style(NamedTuple):
    """What is known of some numbers."""

    marks: tuple[Mark, ...] = ()  # their decimal marks; none: nothing is known
    ends: Ends | None = None  # the range in which they are expected

    def numeral(self, text: str) -> Numeral | None:
        """The number that a text can be: 1.234 surely, where 1234 is out of the range."""
        found = numeral(text)
        if found is None or found.mark is None or found.sure or self.ends is None:
            return found
        low, high = self.ends
        both = (found.mark, OTHER[found.mark])
        decimal, thousands = (low <= float(found.plain(mark)) <= high for mark in both)
        return found._replace(sure=decimal and not thousands)

    def read(self, text: str) -> str:
        """The number as programs write it; a text that is no number as it is."""
        found = self.numeral(text)
        if found is None or found.mark is None:
            return text
        decided = self.marks[0] if len(self.marks) == 1 else None
        if found.sure and decided not in (None, found.mark):
            raise ValueError(
                f"{text!r} has a decimal {WORDS[found.mark]}, but other numbers here have a "
                f"decimal {WORDS[OTHER[found.mark]]}; write all of them alike"
            )
        usual = found.mark == "." and not self.marks
        if not found.sure and decided != found.mark and not usual:
            one, two = found.plain(found.mark), found.plain(OTHER[found.mark])
            raise ValueError(f"{text!r} may be {one} or {two}; write one of these")
        return found.plain(found.mark)

    def sure_marks(self, texts: Iterable[str]) -> tuple[Mark, ...]:
        """The decimal marks that some numbers surely have."""
        found = [self.numeral(text) for text in texts]
        marks = [each.mark for each in found if each is not None and each.sure]
        return tuple(dict.fromkeys(mark for mark in marks if mark is not None))


ALONE = Style()  # a number that stands alone


class Examples:
    """Some numbers of a column: those that tell how all of them are written.

    `styles` and `notes_on` need no others, so that long columns need not be kept.
    """

    ENOUGH = 2  # of a kind: one for the note on decimal commas, one for that on thousands

    def __init__(self, ends: Ends | None = None) -> None:
        self.texts: list[str] = []
        self._style = Style(ends=ends)
        self._kinds: Counter[tuple[object, ...]] = Counter()

    def see(self, text: str) -> None:
        if "." not in text and "," not in text:
            return
        found = self._style.numeral(text)
        if found is not None and found.mark is not None:
            kind = (found.mark, found.sure, found.grouped)
            if self._kinds[kind] < self.ENOUGH:
                self._kinds[kind] += 1
                self.texts.append(text)


def styles(
    columns: Sequence[Sequence[str]], semicolons: bool, ends: Sequence[Ends | None] | None = None
) -> list[Style]:
    """The style of each column: by its own numbers, or else by those of the others.

    A file with semicolons between its columns has decimal commas, if it has any commas. `ends`
    are the ranges of the columns, where they are known.
    """
    ranges = [None] * len(columns) if ends is None else ends
    own = [Style(ends=e).sure_marks(texts) for e, texts in zip(ranges, columns, strict=True)]
    every = tuple(dict.fromkeys(mark for marks in own for mark in marks))
    numbers = (each for texts in columns for each in map(numeral, texts) if each is not None)
    if not every and semicolons and any(each.mark == "," for each in numbers):
        every = (",",)
    # of two kinds in one column the second is refused
    return [Style(marks[:1] or every, e) for marks, e in zip(own, ranges, strict=True)]


def notes_on(numerals: Iterable[Numeral | None]) -> list[str]:
    """What has to be said about numbers that were read: decimal commas, and thousands."""
    found = [each for each in numerals if each is not None and each.mark is not None]
    commas = [each for each in found if each.mark == "," and "," in each.digits]
    commas.sort(key=lambda each: each.grouped)
    groups = [each for each in found if each.grouped and each not in commas[:1]]
    said = []
    if commas:
        said.append(f"numbers are read with decimal commas: {_example(commas[0])}")
    if groups:
        said.append(f"separators of thousands are left out: {_example(groups[0])}")
    return said


def _example(each: Numeral) -> str:
    return f"{each.sign}{each.digits}{each.power} is {each.plain(each.mark)}"
