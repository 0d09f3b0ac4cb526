"""What is wrong with a study file, and in which line."""

from collections.abc import Iterable
from typing import NamedTuple

from meseta.study.toml.lines import Place, spelled


class Mistake(NamedTuple):
    """`says` goes on after the place: "must be a number, got 'wide'"."""

    line: int | None  # None: the file as a whole
    place: Place
    says: str

    def in_file(self, label: str) -> str:
        where = label if self.line is None else f"{label}:{self.line}"
        return f"{where}: {' '.join(filter(None, [spelled(self.place), self.says]))}"


class StudyError(ValueError):
    """A study file cannot be used; `mistakes` has what is wrong, one text each."""

    def __init__(self, label: str, mistakes: Iterable[Mistake]) -> None:
        self.label = label
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(mistake.in_file(label) for mistake in self.mistakes))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.label, self.mistakes)
