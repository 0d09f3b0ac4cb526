"""`meseta tolerances` and `meseta window`: what may be loosened, and how far settings may go."""

from typing import TYPE_CHECKING, Annotated

import typer

from meseta.cli.endings import NOTHING_YET, failures, stop, wrong_use
from meseta.cli.opening import Json, StudyPath, opened
from meseta.cli.printing import echo, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from meseta.study.ledger import Ledger

Confidence = Annotated[
    float, typer.Option("--confidence", help="How sure it must be that the goal is met.")
]


def add_to(app: typer.Typer) -> None:
    app.command()(tolerances)
    app.command()(window)


def tolerances(path: StudyPath, confidence: Confidence = 0.95, as_json: Json = False) -> None:
    """Show which tolerance matters, how far each may be loosened, and the cheapest set of them.

    The last needs limits (at_least, at_most, constraints) and costs in the study file.
    """
    ledger = _with_values(path, confidence)
    with failures():
        from meseta.study import tolerancing

        found = tolerancing.tolerances_of(ledger, confidence)
    if found is None:
        stop("no parameter has noise, so that there is no tolerance", NOTHING_YET)
    if as_json:
        print_json(tolerancing.tolerances_data(found))
        return
    echo(tolerancing.tolerance_table(found), nl=False)
    if found.goal is None:
        echo(
            "there is no goal, or too little is known of it: at_least or at_most in [study], or "
            "[constraints.NAME], say which values are good"
        )
    elif found.goal.allocation is None:
        echo('nothing has a price: cost = "12 / width" in a parameter\'s table says what it costs')
    else:
        echo(str(found.goal.allocation))


def window(
    path: StudyPath,
    probability: Annotated[
        float | None,
        typer.Option(help="How often the limits are to be met; none: as in the file."),
    ] = None,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Show the largest box of settings around the robust optimum in which the goal is met."""
    ledger = _with_values(path, confidence)
    with wrong_use():
        from meseta.study import tolerancing

        tolerancing.goal_of(ledger, probability)
        if ledger.file.goal is None and not ledger.file.constraints:
            raise ValueError(
                f"{path} has no goal: at_least or at_most in [study], or [constraints.NAME], say "
                "which values are good"
            )
    with failures():
        made = tolerancing.window_in(ledger, probability, confidence)
    if as_json:
        print_json(tolerancing.window_data(made))
    else:
        echo(str(made))


def _with_values(path: "Path", confidence: float) -> "Ledger":
    ledger = opened(path, reading=True)
    with wrong_use():
        from meseta.optimizer.goals import read_confidence

        read_confidence(confidence)
    with failures():
        from meseta.study.progress import progress

        if not progress(ledger.trials, None).complete:
            stop("there is no value yet to go by; run or tell some trials", NOTHING_YET)
    return ledger
