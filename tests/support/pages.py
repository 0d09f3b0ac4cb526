"""Pages as something to be run: their code, the files they show, their sessions at a shell.

A block with a title, as in ```toml title="lab.toml", is a file. A block of Python without one is
run, and a ```text block after it is compared with what it prints; so are the commands of a
```console block with the output that it shows. Numbers may differ. `<!-- not run: REASON -->` on
the line above says that a block is only to be read.
"""

import importlib
import io
import re
import runpy
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from meseta.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "examples/README.md")
PAGES = [*(ROOT / name for name in AT_THE_TOP), *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(
    r"^(?P<mark><!-- not run: [^\n]+ -->\n)?```(?P<kind>\w+)(?P<rest>[^\n]*)\n(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    kind: str
    title: str | None  # the name of the file that it is
    run: bool
    text: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [
        Block(each["kind"], _title(each["rest"]), each["mark"] is None, each["text"])
        for each in found
    ]


def is_run(block: Block) -> bool:
    return block.run and block.kind in ("python", "console") and block.title is None


def one_story(page: Path) -> bool:
    """Whether blocks follow on each other; elsewhere each of them stands alone, to be copied."""
    return page.parent.name in ("tutorials", "how-to") or page.name == "start.md"


def run_page(page: Path) -> str:
    """All of it, in order, in the current folder; what its Python prints."""
    namespace = {"__name__": "page"}
    printed: list[str] = []
    for block in blocks(page):
        if block.title is not None:
            path = Path(block.title)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            importlib.invalidate_caches()  # it may be a module, and the folder was known without it
            if block.text.startswith("#!"):
                path.chmod(0o755)
        elif block.kind == "text" and block.run and printed:
            compare("the block above", block.text.splitlines(), printed[-1])
        elif is_run(block) and block.kind == "python":
            code = compile(block.text, name_of(page), "exec")
            with redirect_stdout(io.StringIO()) as out:
                exec(code, namespace if one_story(page) else {"__name__": "page"})
            printed.append(out.getvalue())
        elif is_run(block):
            for command, shown in session(block.text):
                compare(command, shown, typed(command))
    return "".join(printed)


def session(text: str) -> list[tuple[str, list[str]]]:
    """Commands, each with the lines of output that the page shows."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def typed(command: str) -> str:
    """What a command prints; without a process of its own, which would load torch every time."""
    program, *words = shlex.split(command, comments=True)
    if program == "meseta":
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output, result.exception)
        return result.output
    assert program == "python", f"a page may run meseta and python, but has {command!r}"
    before, sys.argv = sys.argv, words
    try:
        with redirect_stdout(io.StringIO()) as out:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise AssertionError((command, out.getvalue())) from end
    finally:
        sys.argv = before
    return out.getvalue()


def compare(command: str, shown: list[str], printed: str) -> None:
    """Every line shown is printed, in that order; `...` is for those left out."""
    lines = iter([_without_numbers(line) for line in printed.splitlines()])
    for line in shown:
        if line.strip() not in ("", "..."):
            found = any(_without_numbers(line) == other for other in lines)
            assert found, f"{command!r} does not print {line!r} (any more), but:\n{printed}"


def _without_numbers(line: str) -> str:
    return " ".join(re.sub(r"-?\d[\d.]*(e[+-]?\d+)?", "#", line).split())


def _title(rest: str) -> str | None:
    found = re.search(r'title="([^"]+)"', rest)
    return found[1] if found else None
