"""The lines of keys in a TOML file, which the parser of the standard library does not give."""

import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

Place = tuple[str | int, ...]  # keys and positions in lists, from the outside to the inside
Lines = dict[Place, int]

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r]+ | \#[^\n]*)
    | (?P<newline>\n)
    | (?P<text>\"{3} (?:\\. | [^\\])*? \"{3,5} | '{3} .*? '{3,5}
             | \"(?:\\. | [^\"\\\n])*\" | '[^'\n]*')
    | (?P<mark>[\[\]{},.=])
    | (?P<bare>[^\s\[\]{},.=\#\"']+ | .)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    kind: str
    text: str
    line: int


END = Token("end", "", 0)


def find_lines(text: str) -> Lines:
    """The line of every table, key and element of a list in a valid TOML text.

    It finds what it can in text that is no valid TOML or is nested too deeply.
    """
    scanner = _Scanner(_tokens(text))
    with suppress(RecursionError):  # a line that is not found is that of the table around it
        scanner.scan()
    return scanner.lines


def line_of(lines: Lines, place: Place) -> int:
    """The line of a place, or of the table around it."""
    for end in range(len(place), 0, -1):
        if place[:end] in lines:
            return lines[place[:end]]
    return 1


def spelled(place: Place) -> str:
    """A place as one writes it: parameters.shaft.noise.laws[1], quoted where TOML needs it."""
    words = ""
    for part in place:
        if isinstance(part, int):
            words += f"[{part}]"
        else:
            words += ("." if words else "") + key(part)
    return words


def key(name: str) -> str:
    """A key as TOML wants it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def quoted(text: str) -> str:
    """A text as TOML wants it, on one line."""
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

    def escaped(letter: str) -> str:
        if letter in short:
            return short[letter]
        return letter if letter.isprintable() else f"\\U{ord(letter):08x}"

    return '"' + "".join(map(escaped, text)) + '"'


def _tokens(text: str) -> Iterator[Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), line)
        line += match.group().count("\n")


class _Scanner:
    def __init__(self, tokens: Iterator[Token]) -> None:
        self.lines: Lines = {}
        self.sizes: dict[Place, int] = {}  # the lengths of arrays of tables
        self.tokens = tokens
        self.token = next(tokens, END)

    def scan(self) -> None:
        table: Place = ()
        while self.token is not END:
            if self.token.text == "[":
                table = self.header()
            elif self.token.kind in ("bare", "text"):
                self.pair(table)
            else:
                self.advance()

    def advance(self) -> Token:
        token, self.token = self.token, next(self.tokens, END)
        return token

    def header(self) -> Place:
        """[a.b] or [[a.b]]; a name of an array of tables means the last of them."""
        line = self.advance().line
        many = self.token.text == "["
        if many:
            self.advance()
        parts = self.key()
        place: Place = ()
        for depth, part in enumerate(parts, start=1):
            place = (*place, part)
            self.lines.setdefault(place, line)
            if many and depth == len(parts):
                self.sizes[place] = self.sizes.get(place, 0) + 1
            if place in self.sizes:
                place = (*place, self.sizes[place] - 1)
        while self.token.kind not in ("newline", "end"):
            self.advance()
        self.lines[place] = line  # in place of that of a key further up that led here
        return place

    def key(self) -> list[str]:
        """The parts of a.b."c d": everything up to = or ]."""
        parts = []
        while self.token.kind in ("bare", "text") or self.token.text == ".":
            token = self.advance()
            if token.kind == "text":
                parts.append(_unquoted(token.text))
            elif token.kind == "bare":
                parts.append(token.text)
        return parts

    def pair(self, table: Place) -> None:
        """Read key = value; a dotted key makes the tables on its way."""
        line, place = self.token.line, table
        for part in self.key():
            place = (*place, part)
            self.lines.setdefault(place, line)
        if self.token.text == "=":
            self.advance()
            self.value(place)

    def value(self, place: Place) -> None:
        if self.token.text == "[":
            self.array(place)
        elif self.token.text == "{":
            self.inline(place)
        else:
            while self.token.kind not in ("newline", "end") and self.token.text not in ",]}":
                self.advance()

    def array(self, place: Place) -> None:
        self.advance()
        index = 0
        while self.token is not END and self.token.text != "]":
            if self.token.kind == "newline" or self.token.text == ",":
                index += self.advance().text == ","
                continue
            self.lines.setdefault((*place, index), self.token.line)
            before = self.token
            self.value((*place, index))
            if self.token is before:  # a mark where none can stand
                self.advance()
        self.advance()

    def inline(self, place: Place) -> None:
        self.advance()
        while self.token is not END and self.token.text != "}":
            before = self.token
            if self.token.kind in ("bare", "text"):
                self.pair(place)
            if self.token is before:
                self.advance()
        self.advance()


def _unquoted(text: str) -> str:
    try:
        return str(tomllib.loads(f"key = {text}")["key"])
    except tomllib.TOMLDecodeError:
        return text
