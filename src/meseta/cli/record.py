"""The commands that put a study right: `meseta correct`, `withdraw`, `comment`, `change`."""

from typing import TYPE_CHECKING, Annotated

import typer

from meseta.cli.asking import Yes, at_a_terminal, check_meant, confirm
from meseta.cli.endings import WRONG_USE, failures, stop, wrong_use
from meseta.cli.negatives import NumbersCommand
from meseta.cli.opening import Executed, Json, Repeats, Stds, StudyPath, Words, assignments, opened
from meseta.cli.printing import echo, print_json
from meseta.study.terminal import say

if TYPE_CHECKING:
    from meseta.study.amending import Amended
    from meseta.study.ledger import Ledger

Number = Annotated[int, typer.Argument(metavar="TRIAL", help="The number of the trial.")]
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="The reason, for those who read it later.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands, in the order people need them."""
    for function in (correct, withdraw, comment, change):
        app.command(cls=NumbersCommand)(function)


def correct(
    path: StudyPath,
    trial: Number,
    why: Why,
    values: Words = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A value that was carried out in fact."),
    ] = None,
    failed: Annotated[
        str | None, typer.Option(metavar="REASON", help="The experiment failed in fact.")
    ] = None,
    std: Stds = None,
    n: Repeats = None,
    executed: Executed = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put right what was told of a trial, or add an outcome that is missing.

    What was told before stays on record, with who changed it, when and why. A trial that was
    withdrawn counts again.
    """
    ledger = opened(path, model=False)
    with wrong_use():
        from meseta.study import amending, lab
        from meseta.study.quality import texts_of

        texts = assignments("--set", settings)
        value, others = lab.read_words(ledger, values or ())
        cells = lab.Cells(value, failed, texts, others, "", texts_of(std or (), n, executed))
        amended = amending.read_correction(ledger, trial, cells, why)
        for note in lab.notes_on_typed(ledger, cells):
            say(note)
        check_meant(amending.unusual_correction(ledger, amended), yes, as_json)
    _store(ledger, amended, as_json)


def withdraw(path: StudyPath, trial: Number, why: Why, as_json: Json = False) -> None:
    """Let a trial that was told count no more; its design may be asked for again."""
    ledger = opened(path, model=False)
    with wrong_use():
        from meseta.study import amending

        amended = amending.read_withdrawal(ledger, trial, why)
    _store(ledger, amended, as_json)


def comment(
    path: StudyPath,
    trial: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The remark.")],
    as_json: Json = False,
) -> None:
    """Add a remark to a trial, for people."""
    ledger = opened(path, model=False)
    with wrong_use():
        from meseta.study import amending

        amended = amending.read_comment(ledger, trial, text)
    _store(ledger, amended, as_json)


def change(
    path: StudyPath,
    old: Annotated[
        list[str] | None,
        typer.Option(
            "--old",
            metavar="NAME=VALUE",
            help="The value that earlier trials had of a parameter that is new.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take the change over; do not ask.")] = False,
) -> None:
    """Take over parameters that have changed in the study file.

    A range or choices may become others as long as all trials stay valid, and a parameter may be
    added. Nothing is changed before all of it was checked.
    """
    with wrong_use():
        from meseta.study.toml.check import check
        from meseta.study.toml.file import read_study

        file = read_study(path)
        check(file)
        texts = assignments("--old", old)
    with failures():
        from meseta.study import changing

        with wrong_use():
            _, planned = changing.plan_change(file, texts)
    if planned is None:
        echo(f"{path} and its study have the same parameters; nothing is changed")
        return
    for sentence in planned.words:
        echo(sentence)
    if not yes:
        if not at_a_terminal():
            stop("nothing was changed; say --yes to take that over", WRONG_USE)
        confirm("Take that over?", "nothing was changed")
    with failures(), wrong_use():
        outside = changing.store(file, texts, planned)
    for sentence in outside:
        say(sentence)
    echo("the study is changed; its trials are kept")


def _store(ledger: "Ledger", amended: "Amended", as_json: bool) -> None:
    with failures():
        from meseta.study import amending, show
        from meseta.study.progress import progress

        stored = amending.store(ledger, amended)
        now = progress(ledger.trials, ledger.file.budget)
    if as_json:
        said = show.amendment_data(stored)
        print_json({"trial": amended.trial.number, "amendment": said, **show.progress_data(now)})
    else:
        echo(f"trial {amended.trial.number}: {stored}")
        echo(show.progress_line(ledger.file, now))
