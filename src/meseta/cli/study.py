"""The commands of a study: `meseta init`, `run`, `status`, `recommend`, `report`, `ask`, `tell`,
`import`.

Exit codes: 0 done, 1 something failed, 2 wrong use or a study file that cannot be read, 3 there is
nothing to recommend yet, 130 interrupted.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from meseta.cli.endings import (
    FAILURE,
    NOTHING_YET,
    WRONG_USE,
    failures,
    stop,
    termination_as_interrupt,
    wrong_use,
)
from meseta.cli.negatives import NumbersCommand
from meseta.study.terminal import harmless, say

if TYPE_CHECKING:
    from meseta.study.ledger import Ledger
    from meseta.study.progress import Progress

REASONS = 3  # the number of reasons of failed trials that are shown
StudyPath = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands, in the order people need them."""
    for function in (init, run, status, recommend, report, ask):
        app.command()(function)
    app.command(cls=NumbersCommand)(tell)
    app.command("import")(take_over)


def init(
    path: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The file to write.")] = Path(
        "study.toml"
    ),
) -> None:
    """Write a study file to start from, every line explained."""
    from meseta.study.toml.template import template

    if path.suffix != ".toml":
        path = path.with_name(f"{path.name}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template(path.stem))
    except FileExistsError:
        stop(f"{path} exists and is left as it is; name another file", WRONG_USE)
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}", FAILURE)
    _echo(f"{path} is written: edit it, then `meseta run {path}`, or `meseta ask {path}`")


def run(
    path: StudyPath,
    trials: Annotated[
        int | None, typer.Option(min=1, help="The largest number of trials to evaluate this time.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="The number of processes that evaluate at the same time.")
    ] = 1,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    worker: Annotated[int | None, typer.Option("--worker", metavar="PID", hidden=True)] = None,
) -> None:
    """Run a study, or go on with it; from one terminal or from many at once."""
    from meseta.study.workers.output import lasting_output

    with lasting_output(answer_alone=as_json) as (answer, look):
        if workers > 1:
            _many_workers(path, trials, workers, as_json, quiet, answer)
            return
        ledger = _opened(path, begin=True, objective=True, patient=worker is not None)
        with failures(), termination_as_interrupt():
            from meseta.study.workers.watch import watched
            from meseta.study.workers.work import work

            with watched(ledger, quiet=quiet or as_json) as watch:

                def seen(now: "Progress") -> None:
                    look()
                    watch(now)

                work(ledger, trials=trials, parent=worker, watch=seen)
        if worker is None:  # the team's answer is given once
            _report(ledger, as_json, file=answer)
            _check_any(ledger)


def status(path: StudyPath, as_json: Json = False, csv: Csv = False) -> None:
    """Show the progress and the trials of a study; --csv and --json work for changed files, too."""
    if csv or as_json:
        _export(path, csv)
        return
    ledger = _opened(path, reading=True, model=False)
    with failures():
        from meseta.study import show
        from meseta.study.progress import progress

        trials = ledger.trials
        now = progress(trials, ledger.file.budget)
        rows = show.trial_data(trials, ledger.file)
    _echo(show.progress_line(ledger.file, now))
    _echo(show.trial_table(ledger.file, rows), nl=False)
    for row in rows:
        if row["error"]:
            what = "failed" if row["state"] == "failed" else "lacks an outcome"
            _echo(f"trial {row['trial']} {what}: {row['error'].splitlines()[0]}")


def _export(path: Path, csv: bool) -> None:
    with failures(), wrong_use():
        from meseta.study import show
        from meseta.study.export import export
        from meseta.study.progress import progress

        found = export(path)
    if found.note:
        say(f"{found.note}. These are the trials as they are stored")
    if csv:
        _print_csv(found.csv)
        return
    now = progress(found.trials, found.file.budget)
    _print_json({**show.progress_data(now), "trials": found.rows})


def recommend(
    path: StudyPath,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='What is wanted in use, "quantile 0.05", "yield 0.8 inf"; none: as in the file.',
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the robust optimum that the trials speak for, beside the nominal one."""
    ledger = _opened(path, reading=True)
    _report(ledger, as_json, needed=True, measure=measure)


def report(
    path: StudyPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.html",
            help="The file to write; none: beside the study file.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is not a report.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write a report that shows why the robust design wins: one HTML file."""
    ledger = _opened(path, reading=True)
    target = output or path.with_suffix(".html")
    with failures():
        from meseta.report import page
        from meseta.study.reporting import check_target, plain, report_of

        if not as_json:
            with wrong_use():
                check_target(ledger, target, force=force)
        made = report_of(ledger)
        if as_json:
            _print_json(plain(made))
            return
        written = page.write(made, target, force=force)
    if made.answer is None:
        _echo("no trial has finished yet, and the report says so")
    _echo(f"{written} is written: open it in a browser")
    if show:
        typer.launch(written.resolve().as_uri())


def ask(
    path: StudyPath,
    n: Annotated[int, typer.Option("-n", min=1, help="The number of experiments.")] = 1,
    as_json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the next experiments to carry out; `meseta tell` takes their results."""
    ledger = _opened(path, begin=True)
    with failures():
        from meseta.study import lab, show
        from meseta.study.progress import progress, release_abandoned

        release_abandoned(ledger)
        left = progress(ledger.trials, ledger.file.budget).left
        planned = lab.ask(ledger, n)
    if left is not None and n > left:
        say(f"beyond the budget of {ledger.file.budget} trials")
    if as_json:
        _print_json(show.planned_data(planned))
    elif csv:
        _print_csv(show.planned_csv(ledger.file, planned))
    else:
        _echo(show.planned_table(ledger.file, planned), nl=False)


def tell(
    path: StudyPath,
    trial: Annotated[int | None, typer.Argument(help="The number of the trial.")] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VALUE|NAME=VALUE]...",
            help="The measured value; or several outcomes, such as strength=0.82 stress=231.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A value as it was measured, or carried out."
        ),
    ] = None,
    failed: Annotated[
        str | None, typer.Option(metavar="REASON", help="The experiment gave no value.")
    ] = None,
    spoilt: Annotated[
        str | None,
        typer.Option(
            metavar="REASON", help="The experiment went wrong by chance, and does not count."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv", metavar="FILE", help="Results of many trials: columns trial and value."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Store the result of an experiment that was asked for."""
    ledger = _opened(path, model=False)
    with wrong_use():
        from meseta.study import lab

        if (table is None) == (trial is None):
            raise ValueError("tell one trial by its number and value, or many with --csv FILE")
        if spoilt is not None:
            if trial is None or values or failed is not None or settings:
                raise ValueError("--spoilt goes with the number of a trial, and nothing else")
            lab.check_running(ledger, trial)
            with failures():
                lab.spoil(ledger, trial, spoilt)
            _told(ledger, 1, as_json)
            return
        known = 0
        if table is not None:
            outcomes, known = lab.read_outcomes(ledger, table)
        else:
            assert trial is not None
            texts = dict(_assignment(each) for each in settings or ())
            value, others = lab.read_words(ledger, values or ())
            outcomes = [lab.read_outcome(ledger, trial, lab.Cells(value, failed, texts, others))]
    with failures():
        notes = lab.store(ledger, outcomes)
    for note in notes:
        say(note)
    if known:
        say(f"{_counted(known, 'row')} had been told before")
    _told(ledger, len(outcomes), as_json, known)


def take_over(
    path: StudyPath,
    table: Annotated[
        Path, typer.Argument(metavar="DATA.csv", help="A table with a column for each parameter.")
    ],
    value: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of the values; none: value, or what the study calls its value.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Import experiments that were made before, or that nobody asked for."""
    ledger = _opened(path, begin=True)
    with wrong_use():
        from meseta.study import lab

        found, unfinished = lab.read_history(ledger, table, value)
    with failures():
        added = lab.add_history(ledger, found)
    known = len(found) - added
    if known:
        say(f"{_counted(known, 'row')} had been there already")
    if unfinished:
        say(f"{_counted(unfinished, 'row')} without an outcome yet, left out")
    _told(ledger, added, as_json, known)


def _told(ledger: "Ledger", count: int, as_json: bool, known: int = 0) -> None:
    from meseta.study import show
    from meseta.study.progress import progress

    now = progress(ledger.trials, ledger.file.budget)
    if as_json:
        _print_json({"stored": count, "known": known, **show.progress_data(now)})
    else:
        stored = f"{count} stored" if count != 1 else "stored"
        _echo(f"{stored}; {show.progress_line(ledger.file, now)}")


def _opened(
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
        from meseta.study.ledger import open_ledger

        patience = PATIENCE if patient else 0.0
        return open_ledger(file, begin=begin, reading=reading, patience=patience)


def _report(
    ledger: "Ledger",
    as_json: bool,
    needed: bool = False,
    file: TextIO | None = None,
    measure: str | None = None,
) -> None:
    """Print the recommendation, if there is any yet."""
    if measure is not None:
        with wrong_use():
            from meseta.measures import read_measure

            read_measure(measure)
    with failures():
        from meseta.study import show
        from meseta.study.answer import answer_of
        from meseta.study.progress import progress

        now = progress(ledger.trials, ledger.file.budget)
        answer = answer_of(ledger, measure) if now.complete else None
    if as_json:
        best = None if answer is None else show.answer_data(answer)
        _print_json({**show.progress_data(now), "recommendation": best}, file)
    else:
        _echo(show.progress_line(ledger.file, now))
        if answer is not None:
            _echo(str(answer))
    if answer is None and needed:
        stop("there is no value yet to recommend by; run or tell some trials", NOTHING_YET)


def _check_any(ledger: "Ledger") -> None:
    """A run whose trials have all failed has failed."""
    with failures():
        from meseta.study.progress import failed_reasons, progress

        now = progress(ledger.trials, ledger.file.budget)
        if now.complete or not now.failed:
            return
        reasons = failed_reasons(ledger)
    shown = "; ".join(f"{reason} (trial {number})" for reason, number in reasons[:REASONS])
    more = f"; and {len(reasons) - REASONS} other reasons" if len(reasons) > REASONS else ""
    stop(
        f"no trial gave a value, and all {now.failed} that were evaluated failed: {shown}{more}",
        FAILURE,
    )


def _many_workers(
    path: Path, trials: int | None, workers: int, as_json: bool, quiet: bool, answer: TextIO
) -> None:
    ledger = _opened(path, begin=True, objective=True)
    with failures(), termination_as_interrupt():
        from meseta.study.workers.team import run_team

        command = [sys.executable, "-m", "meseta.cli", "run", os.fspath(path), "--quiet"]
        lost = run_team(ledger, command, workers, trials, quiet=quiet or as_json)
    for words in lost:  # first of all: there may be values in them that are nowhere else
        say(words)
    _report(ledger, as_json, file=answer)
    if lost:
        stop("workers ended early, see above; start the same command to go on", FAILURE)
    _check_any(ledger)


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _print_json(data: Any, file: TextIO | None = None) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(harmless(text), file=file)


def _print_csv(text: str) -> None:
    """A terminal gets control characters spelled out; a file gets the text itself."""
    typer.echo(harmless(text) if sys.stdout.isatty() else text, nl=False)


def _echo(text: str, nl: bool = True) -> None:
    typer.echo(harmless(text), nl=nl)
