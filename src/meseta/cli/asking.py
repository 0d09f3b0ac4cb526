"""Questions before something unusual is stored."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from meseta.cli.endings import FAILURE, stop
from meseta.study.terminal import say

Yes = Annotated[bool, typer.Option("--yes", help="Take unusual values as they are; do not ask.")]


def at_a_terminal() -> bool:
    """Whether there is somebody to be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def check_meant(found: Sequence[str], yes: bool, as_json: bool) -> None:
    """Ask whether what is unusual is meant; refuse it where nobody can be asked."""
    if yes or not found:
        return
    if as_json or not at_a_terminal():
        raise ValueError(f"{'; '.join(found)}. Nothing was stored; if that is right, say --yes")
    for sentence in found:
        say(sentence)
    confirm("Is that right?", "nothing was stored")


def confirm(question: str, otherwise: str) -> None:
    """Ask, and end the command if the answer is no."""
    if not typer.confirm(question, err=True):
        stop(otherwise, FAILURE)
