"""A study as commands open it, what they are told of a trial, and what they say at the end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meseta.cli.endings import failures, wrong_use
from meseta.cli.printing import echo, print_json
from meseta.study.terminal import say

if TYPE_CHECKING:
    from meseta.study.ledger import Ledger

StudyPath = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[VALUE|NAME=VALUE]...",
        help="The measured value; or several outcomes, such as strength=0.82 stress=231.",
    ),
]

Stds = Annotated[
    list[str] | None,
    typer.Option(
        "--std",
        metavar="[NAME=]VALUE",
        help="The standard deviation of one measurement; of other outcomes by their names.",
    ),
]
Repeats = Annotated[
    str | None,
    typer.Option("--n", metavar="N", help="The number of measurements whose mean this is."),
]
Executed = Annotated[
    str | None,
    typer.Option(
        "--executed",
        metavar="unseen|known",
        help="unseen: the noise acted on it, and nobody saw how; none: as in the file.",
    ),
]


def opened(
    path: Path,
    *,
    begin: bool = False,
    reading: bool = False,
    objective: bool = False,
    patient: bool = False,
    model: bool = True,
) -> "Ledger":
    """The study in the file, checked before anything is touched.

    Commands that need no `model` check neither noise nor method, which takes torch and seconds.
    """
    with wrong_use():
        from meseta.study.toml.file import read_study

        file = read_study(path)
        if objective and file.objective is None:
            raise ValueError(
                f"{path} has no [objective], so its trials are carried out by hand: "
                f"`meseta ask {path}` says what to do next"
            )
        from meseta.study.toml.check import check, check_parameters

        (check if model else check_parameters)(file)
        if objective:
            from meseta.study.workers.objective import check_objective

            check_objective(file)
    with failures():
        from meseta.study.database import PATIENCE
        from meseta.study.ledger import news_of_figures, open_ledger

        patience = PATIENCE if patient else 0.0
        ledger = open_ledger(file, begin=begin, reading=reading, patience=patience)
        if model and reading and (news := news_of_figures(ledger)):
            say(f"note: {news}")
        return ledger


def told(ledger: "Ledger", count: int, as_json: bool, known: int = 0) -> None:
    from meseta.study import show
    from meseta.study.progress import progress

    now = progress(ledger.trials, ledger.file.budget)
    if as_json:
        print_json({"stored": count, "known": known, **show.progress_data(now)})
    else:
        stored = f"{count} stored" if count != 1 else "stored"
        echo(f"{stored}; {show.progress_line(ledger.file, now)}")


def assignments(option: str, texts: list[str] | None) -> dict[str, str]:
    """The values by name of an option that is given as NAME=VALUE, as often as needed."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign:
            raise ValueError(f"{option} takes NAME=VALUE, got {text!r}")
        if name in found:
            raise ValueError(f"{option} has {name!r} twice; give it once")
        found[name] = value
    return found
