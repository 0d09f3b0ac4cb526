"""Pages as something to be run: their code, the files they show, their sessions at a shell.

A block with a title, as in ```toml title="lab.toml", is a file. A block of Python without one is
run; so are the commands of a ```console block, and what it shows of their output is compared, but
for numbers. `<!-- not run: REASON -->` on the line above says that a block is only to be read.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from meseta.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
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


def run_page(page: Path) -> None:
    """All of it, in order, in the current folder."""
    namespace = {"__name__": "page"}
    for block in blocks(page):
        if block.title is not None:
            path = Path(block.title)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            if block.text.startswith("#!"):
                path.chmod(0o755)
        elif is_run(block) and block.kind == "python":
            code = compile(block.text, name_of(page), "exec")
            exec(code, namespace if one_story(page) else {"__name__": "page"})
        elif is_run(block):
            for command, shown in session(block.text):
                compare(command, shown, typed(command))


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
    """What a command prints; meseta's own without a process, which would load torch every time."""
    program, *words = shlex.split(command, comments=True)
    if program == "meseta":
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output, result.exception)
        return result.output
    assert program == "python", f"a page may run meseta and python, but has {command!r}"
    places = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
    )
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


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
