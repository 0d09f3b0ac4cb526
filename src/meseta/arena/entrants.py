"""Entrants: files with a class `Entrant`, read without running them.

What is said about an entrant stands in its class as plain values, so that a list of entrants needs
none of their interpreters.
"""

import ast
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meseta.boundary import unknown

if TYPE_CHECKING:
    from meseta.problems.problem import Board

BOARDS: "tuple[Board, ...]" = ("mean", "risk", "constraints")
METHODS = ("ask", "tell", "recommend")


@dataclass(frozen=True)
class Entrant:
    """What the file of an entrant says about it; its name is that of the file."""

    name: str
    title: str
    settings: str  # which published settings it plays with
    boards: tuple[str, ...]
    python: str | None  # the interpreter, relative to the file; None: ours
    why_not: str  # why it does not play; empty: it does


def interpreter(folder: Path, entrant: Entrant) -> str:
    # not resolved: an environment is known by the link to its interpreter
    return sys.executable if entrant.python is None else str(folder.absolute() / entrant.python)


def all_entrants(folder: Path) -> dict[str, Entrant]:
    """The entrants of a folder by name; files whose names begin with _ are what they share."""
    return chosen_entrants(folder, ())


def _files(folder: Path) -> dict[str, Path]:
    paths = sorted(p for p in folder.glob("*.py") if p.name[0] not in "._" and p.is_file())
    if not paths:
        raise ValueError(
            f"{folder} has no entrants; name the folder of their files by --entrants-from"
        )
    return {path.stem: path for path in paths}


def chosen_entrants(folder: Path, names: tuple[str, ...]) -> dict[str, Entrant]:
    """Those of these names, whatever the other files are like; none: all."""
    files = _files(folder)
    for name in names:
        if name not in files:
            raise ValueError(unknown("entrant", name, files))
    return {name: read_entrant(files[name]) for name in dict.fromkeys(names or files)}


def code_of(path: Path) -> str:
    """A short mark of what stands in a file, and in those beside it that it imports."""
    files = [path]
    for each in files:  # it grows meanwhile
        shared = [file for name in _imported(each) for file in _beside(path.parent, name)]
        files += [file for file in dict.fromkeys(shared) if file not in files]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _beside(folder: Path, module: str) -> list[Path]:
    """The file of a module, or all of a package, of the folder of entrants."""
    top = module.partition(".")[0]
    package = folder / top
    if (package / "__init__.py").is_file():
        return sorted(package.rglob("*.py"))
    return [file for file in (folder / f"{top}.py",) if top and file.is_file()]


def _imported(path: Path) -> list[str]:
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):  # what cannot be run imports nothing
        return []
    names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    return names + [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]


def read_entrant(path: Path) -> Entrant:
    """What a file says about its entrant; refused if that is not enough to play."""
    try:
        tree = ast.parse(path.read_bytes())  # which follows the encoding that it names
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:  # or is too deep
        raise ValueError(f"{path} is no Python file: {error}") from error
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Entrant"]
    if not classes:
        raise ValueError(
            f"{path} must have a class Entrant with {', '.join(METHODS)}; see enter.md"
        )
    said = _said(path, classes[-1])
    if not classes[-1].bases:
        there = {n.name for n in classes[-1].body if isinstance(n, ast.FunctionDef)}
        lacking = [name for name in METHODS if name not in there]
        if lacking:
            raise ValueError(f"the class Entrant of {path} lacks {', '.join(lacking)}")
    texts = {key: said.get(key) for key in ("title", "settings")}
    for key, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the class Entrant of {path} needs a text {key!r}, got {text!r}")
    boards = said.get("boards")
    if not (isinstance(boards, tuple | list) and boards and all(b in BOARDS for b in boards)):
        raise ValueError(
            f"the class Entrant of {path} needs 'boards', some of {', '.join(BOARDS)}, "
            f"got {boards!r}"
        )
    python = said.get("python")
    if not isinstance(python, str | None):
        raise ValueError(f"'python' of {path} must be the path of an interpreter, got {python!r}")
    why_not = said.get("why_not") or ""
    if python is not None and not why_not and not (path.parent / python).exists():
        why_not = f"its environment {python} is not there; `make arena-setup` makes it"
    return Entrant(
        path.stem, str(texts["title"]), str(texts["settings"]), tuple(boards), python, str(why_not)
    )


def _said(path: Path, entrant: ast.ClassDef) -> dict[str, Any]:
    """The attributes of the class."""
    said: dict[str, Any] = {}
    for node in entrant.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = target.id if isinstance(target, ast.Name) else ""
        if name in ("title", "settings", "boards", "python", "why_not"):
            try:
                said[name] = ast.literal_eval(node.value)
            except (ValueError, TypeError, MemoryError, RecursionError):
                raise ValueError(
                    f"line {node.lineno} of {path}: {name!r} must be a plain value, since it "
                    "is read without running the file"
                ) from None
    return said
