"""Writes docs/reference/cli.md from the command line: `python tests/support/cli_page.py`."""

from pathlib import Path
from typing import Any

import typer

from meseta.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
INTRODUCTION = """\
# Command line

Written by `python tests/support/cli_page.py` from what `--help` says. What the commands are for,
and how they end:
[Studies from the command line](../command-line.md), [The experiments](../bench.md),
[Enter the arena](../arena/enter.md).

`meseta --version` shows the version.
"""


def commands(group: Any = None, name: str = "meseta") -> dict[str, Any]:
    """Every command with its full name."""
    group = typer.main.get_command(app) if group is None else group
    found: dict[str, Any] = {}
    for word, command in group.commands.items():
        full = f"{name} {word}"
        found |= commands(command, full) if hasattr(command, "commands") else {full: command}
    return found


def text() -> str:
    return INTRODUCTION + "".join(_section(name, each) for name, each in commands().items())


def _section(name: str, command: Any) -> str:
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    usage = " ".join([name, "[OPTIONS]", *(_usage(each) for each in arguments)])
    rows = [f"| {_names(each)} | {_help(each)} |\n" for each in shown if each.name != "help"]
    table = "| | |\n| --- | --- |\n" + "".join(rows)
    paragraphs = "\n\n".join(" ".join(part.split()) for part in command.help.split("\n\n"))
    return f"\n## {name}\n\n{paragraphs}\n\n```text\n{usage}\n```\n\n{table if rows else ''}"


def _usage(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(f"`{each}{value}`" for each in sorted(parameter.opts, key=len))


def _help(parameter: Any) -> str:
    said = (parameter.help or "").replace("|", "\\|")
    default = parameter.default
    if default in (None, (), [], "", False) or callable(default) or parameter.required:
        return said
    return f"{said} Default: `{default}`."


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
