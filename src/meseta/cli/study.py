"""The commands of a study: `meseta init`, `run`, `status`, `recommend`, `report`, `ask`, `tell`,
`import`; those that put the record right are in `record`.

Exit codes: 0 done, 1 something failed, 2 wrong use or a study file that cannot be read, 3 there is
nothing to recommend yet, 130 interrupted.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from meseta.cli import record
from meseta.cli.asking import Yes, check_meant
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
from meseta.cli.opening import (
    Executed,
    Json,
    Repeats,
    Stds,
    StudyPath,
    Words,
    assignments,
    opened,
    told,
)
from meseta.cli.optional_value import ReportCommand
from meseta.cli.printing import check_form, counted, echo, print_csv, print_json
from meseta.cli.tables import TableCommand
from meseta.study.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from meseta.optimizer.record import Trial
    from meseta.study.ledger import Ledger
    from meseta.study.live import LiveReport
    from meseta.study.progress import Progress

REASONS = 3  # the number of reasons of failed trials that are shown
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets.")]
Xlsx = Annotated[
    Path | None, typer.Option("--xlsx", metavar="FILE.xlsx", help="Write an Excel file.")
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="The sheet of an Excel file; none: the first."),
]

Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="TITLE=NAME",
        help='The name of a column that the table calls otherwise: "Haftung=adhesion".',
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands, in the order people need them."""
    app.command()(init)
    app.command(cls=ReportCommand)(run)
    app.command(cls=TableCommand)(status)
    app.command()(recommend)
    app.command()(report)
    app.command(cls=TableCommand)(ask)
    app.command(cls=NumbersCommand)(tell)
    record.add_to(app)
    app.command("import", cls=NumbersCommand)(take_over)


def init(
    path: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The file to write.")] = Path(
        "study.toml"
    ),
) -> None:
    """Write a study file to start from, every line explained."""
    from meseta.study.toml.template import template
    from meseta.whole_file import removed_if_it_fails

    if path.is_dir() or not path.name:
        stop(f"{path} is a folder; name the file to write, such as press.toml", WRONG_USE)
    if path.suffix != ".toml":
        path = path.with_name(f"{path.name}.toml")
    try:
        file = path.open("x", encoding="utf-8")
        with removed_if_it_fails(file):
            file.write(template(path.stem))
    except FileExistsError:
        stop(f"{path} exists and is left as it is; name another file", WRONG_USE)
    except OSError as error:
        stop(f"{path} cannot be written: {error.strerror}", FAILURE)
    echo(f"{path} is written: edit it, then `meseta run {path}`, or `meseta ask {path}`")


def run(
    path: StudyPath,
    trials: Annotated[
        int | None, typer.Option(min=1, help="The largest number of trials to evaluate this time.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=1000, help="The number of processes that evaluate at the same time."
        ),
    ] = 1,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    live: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="[FILE.html]",
            help="Keep a report current while the study runs; without a file: beside the study "
            "file.",
        ),
    ] = None,
    worker: Annotated[int | None, typer.Option("--worker", metavar="PID", hidden=True)] = None,
    failed: Annotated[int | None, typer.Option("--failed", metavar="N", hidden=True)] = None,
) -> None:
    """Run a study, or go on with it; from one terminal or from many at once.

    It gives up where nothing but failures comes out: `give_up` in the study file says how many.
    """
    from meseta.study.workers.output import lasting_output

    with lasting_output(answer_alone=as_json) as (answer, look):
        ledger = opened(path, begin=True, objective=True, patient=worker is not None)
        target = _live_target(ledger, path, live)
        before = _failed(ledger)
        if workers > 1:
            _many_workers(ledger, path, trials, workers, as_json, quiet, answer, target, before)
            return
        with failures(), termination_as_interrupt():
            from meseta.study.workers.watch import watched
            from meseta.study.workers.work import work

            with (
                _kept_current(ledger, target) as report_,
                watched(ledger, quiet=quiet or as_json, live=report_) as watch,
            ):

                def seen(now: "Progress") -> None:
                    look()
                    watch(now)

                work(ledger, trials=trials, parent=worker, failed=failed, watch=seen)
        if worker is None:  # the team's answer is given once
            _report(ledger, as_json, file=answer)
            _check_any(ledger, before)


def status(path: StudyPath, as_json: Json = False, csv: Csv = False, xlsx: Xlsx = None) -> None:
    """Show the progress and the trials of a study.

    --csv, --xlsx and --json work for changed files, too.
    """
    if csv or as_json or xlsx is not None:
        _export(path, csv, as_json, xlsx)
        return
    ledger = opened(path, reading=True, model=False)
    with failures():
        from meseta.study import show
        from meseta.study.progress import progress

        trials = ledger.trials
        now = progress(trials, ledger.file.budget)
        rows = show.trial_data(trials, ledger.file)
    echo(show.progress_line(ledger.file, now))
    echo(show.trial_table(ledger.file, rows), nl=False)
    for row in rows:
        if row["error"]:
            what = "failed" if row["state"] == "failed" else "lacks an outcome"
            echo(f"trial {row['trial']} {what}: {row['error'].splitlines()[0]}")
    changes = show.change_lines(ledger.study)
    for line in (*show.amendment_lines(rows), *show.confirming_lines(trials), *changes):
        echo(line)
    if said := show.untold_scatter(ledger, trials):
        echo(said)


def _export(path: Path, csv: bool, as_json: bool, xlsx: Path | None) -> None:
    with failures(), wrong_use():
        check_form(csv, as_json, xlsx)
        from meseta.study import excel, show
        from meseta.study.export import export
        from meseta.study.progress import progress

        with excel.new_file(xlsx) as file:
            found = export(path)
            if file is not None:
                excel.write_sheet(file, found.cells)
    if found.note:
        say(f"{found.note}. These are the trials as they are stored")
    if csv:
        print_csv(found.cells)
    elif as_json:
        now = progress(found.trials, found.file.budget)
        print_json({**show.progress_data(now), "trials": found.rows, "changes": found.changes})
    else:
        echo(f"{xlsx} is written")


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
    ledger = opened(path, reading=True)
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
    ledger = opened(path, reading=True)
    target = output or path.with_suffix(".html")
    with failures():
        from meseta.report import page
        from meseta.study.reporting import check_target, plain, report_of

        if not as_json:
            with wrong_use():
                check_target(ledger, target, force=force)
        made = report_of(ledger)
        if as_json:
            print_json(plain(made))
            return
        written = page.write(made, target, force=force, file=ledger.file.path.name)
    if made.answer is None:
        echo("no trial has finished yet, and the report says so")
    echo(f"{written} is written: open it in a browser")
    if show:
        typer.launch(written.resolve().as_uri())


def ask(
    path: StudyPath,
    n: Annotated[int, typer.Option("-n", help="The number of experiments, at most 1000.")] = 1,
    as_json: Json = False,
    csv: Csv = False,
    xlsx: Xlsx = None,
) -> None:
    """Show the next experiments to carry out; `meseta tell` takes their results."""
    with failures(), wrong_use():
        check_form(csv, as_json, xlsx)
        from meseta.study import excel, lab

        lab.check_num(n)
        with excel.new_file(xlsx) as file, failures():
            ledger = opened(path, begin=True)
            from meseta.study import show
            from meseta.study.progress import progress, release_abandoned
            from meseta.study.workers.liveness import Listener

            ledger.database.listener = Listener()  # new: it gives away no trial of another machine
            release_abandoned(ledger)
            left = progress(ledger.trials, ledger.file.budget).left
            planned = lab.ask(ledger, n)
            if file is not None:
                excel.write_sheet(file, show.planned_cells(ledger.file, planned))
    if left is not None and n > left:
        say(f"beyond the budget of {ledger.file.budget} trials")
    if as_json:
        print_json(show.planned_data(planned))
    else:
        print_planned(ledger, planned, csv, xlsx)


def print_planned(
    ledger: "Ledger", planned: "Sequence[Trial]", csv: bool, xlsx: Path | None
) -> None:
    """The experiments to carry out, unless they were written to an Excel file."""
    from meseta.study import show

    if csv:
        print_csv(show.planned_cells(ledger.file, planned))
    elif xlsx is not None:
        tell = f"meseta tell {ledger.file.label} --table {xlsx}"
        echo(f"{xlsx} is written: fill it in, then `{tell}`")
    else:
        echo(show.planned_table(ledger.file, planned), nl=False)


def tell(
    path: StudyPath,
    trial: Annotated[int | None, typer.Argument(help="The number of the trial.")] = None,
    values: Words = None,
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
            "--table",
            "--csv",
            metavar="FILE",
            help="Results of many trials, CSV or Excel: columns trial and value.",
        ),
    ] = None,
    sheet: Sheet = None,
    names: Map = None,
    std: Stds = None,
    n: Repeats = None,
    executed: Executed = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Store the result of an experiment that was asked for.

    A value far from all others, or a setting far beyond its range, is asked about first.
    """
    ledger = opened(path, model=False)
    with failures(), wrong_use():
        from meseta.study import lab
        from meseta.study.quality import texts_of

        if (table is None) == (trial is None):
            raise ValueError("tell one trial by its number and value, or many with --table FILE")
        quality = texts_of(std or (), n, executed)
        if table is not None and quality:
            raise ValueError("--std, --n and --executed are columns of the table: std, n, executed")
        if table is None and sheet is not None:
            raise ValueError("--sheet goes with --table FILE.xlsx")
        if table is None and names:
            raise ValueError("--map goes with --table FILE")
        if spoilt is not None:
            if trial is None or values or failed is not None or settings or quality:
                raise ValueError("--spoilt goes with the number of a trial, and nothing else")
            lab.check_spoilt(ledger, trial, spoilt)
            with failures():
                lab.spoil(ledger, trial, spoilt)
            told(ledger, 1, as_json)
            return
        if table is not None:
            outcomes, known, outdated, read = lab.read_outcomes(
                ledger, table, sheet, assignments("--map", names)
            )
        else:
            assert trial is not None
            texts = assignments("--set", settings)
            value, others = lab.read_words(ledger, values or ())
            cells = lab.Cells(value, failed, texts, others, "", quality)
            outcomes, known, outdated = [lab.read_outcome(ledger, trial, cells)], 0, 0
            read = lab.notes_on_typed(ledger, cells)
        for note in read:
            say(note)
        check_meant(lab.unusual_outcomes(ledger, outcomes), yes, as_json)
    with failures():
        stored = lab.store(ledger, outcomes)
    known += stored.known
    for note in stored.notes:
        say(note)
    if known:
        say(f"{counted(known, 'row')} had been told before{_since(outdated)}")
    if stored.num or not stored.lost:
        told(ledger, stored.num, as_json, known)
    if stored.lost:
        stop("\n".join(stored.lost), FAILURE)


def take_over(
    path: StudyPath,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="DATA.csv", help="A table, CSV or Excel, with a column for each parameter."
        ),
    ],
    value: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of the values; none: value, or what the study calls its value.",
        ),
    ] = None,
    sheet: Sheet = None,
    names: Map = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Import experiments that were made before, or that nobody asked for.

    Values far from all others, and settings far beyond their range, are asked about first.
    """
    ledger = opened(path, begin=True)
    with failures(), wrong_use():
        from meseta.study import history
        from meseta.study.unusual import said_of, unusual

        found = history.read_history(ledger, table, value, sheet, assignments("--map", names))
        for note in found.notes:
            say(note)
        check_meant(
            unusual(ledger, [said_of(each.place, each.trial) for each in found.new]), yes, as_json
        )
    with failures():
        num = history.add_history(ledger, found.new)
    known = found.known + len(found.new) - num
    if known:
        say(f"{counted(known, 'row')} had been there already{_since(found.outdated)}")
    if found.unfinished:
        say(f"{counted(found.unfinished, 'row')} without an outcome yet, left out")
    if found.withdrawn:
        say(f"{counted(found.withdrawn, 'row')} withdrawn, left out")
    told(ledger, num, as_json, known)


def _since(outdated: int) -> str:
    return f", {outdated} of them corrected or withdrawn since" if outdated else ""


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
        print_json({**show.progress_data(now), "recommendation": best}, file)
    else:
        echo(show.progress_line(ledger.file, now))
        if answer is not None:
            echo(str(answer))
    if answer is None and needed:
        stop("there is no value yet to recommend by; run or tell some trials", NOTHING_YET)


def _failed(ledger: "Ledger") -> int:
    """The number of trials that have failed by now."""
    with failures():
        from meseta.study.progress import progress

        return progress(ledger.trials, None).failed


def _check_any(ledger: "Ledger", before: int) -> None:
    """A run whose trials have all failed has failed; `before` is how many had before it."""
    with failures():
        from meseta.study.progress import failed_reasons, gives_up, progress

        now = progress(ledger.trials, ledger.file.budget)
        if now.complete or not now.failed:
            return
        reasons = failed_reasons(ledger)
    shown = "; ".join(f"{reason} (trial {number})" for reason, number in reasons[:REASONS])
    more = f"; and {len(reasons) - REASONS} other reasons" if len(reasons) > REASONS else ""
    most = ledger.file.chosen.give_up
    rest = ""
    if now.left != 0 and gives_up(now, before, most):
        left = "" if now.left is None else f", and {now.left} of the budget are left"
        rest = (
            f". Nothing more is evaluated{left}. Started again, the same command evaluates up to "
            f"{most} more; give_up = 0 in the file: as many as there are"
        )
    stop(
        f"no trial gave a value, and all {now.failed} that were evaluated failed: "
        f"{shown}{more}{rest}",
        FAILURE,
    )


def _live_target(ledger: "Ledger", path: Path, live: str | None) -> Path | None:
    """Where the report of a run goes; None: there is none."""
    if live is None:
        return None
    target = Path(live) if live else path.with_suffix(".html")
    with failures():
        from meseta.study.reporting import check_target

        with wrong_use():
            check_target(ledger, target)
    return target


@contextmanager
def _kept_current(ledger: "Ledger", target: Path | None) -> "Iterator[LiveReport | None]":
    if target is None:  # then nothing that reports need is loaded
        yield None
        return
    from meseta.study.live import kept_current

    with kept_current(ledger, target) as live:
        yield live


def _many_workers(
    ledger: "Ledger",
    path: Path,
    trials: int | None,
    workers: int,
    as_json: bool,
    quiet: bool,
    answer: TextIO,
    target: Path | None,
    before: int,
) -> None:
    with failures(), termination_as_interrupt():
        from meseta.study.workers.team import run_team

        command = [sys.executable, "-m", "meseta.cli", "run", os.fspath(path), "--quiet"]
        command += ["--failed", str(before)]
        with _kept_current(ledger, target) as live:
            lost = run_team(ledger, command, workers, trials, quiet=quiet or as_json, live=live)
    for words in lost:  # first of all: there may be values in them that are nowhere else
        say(words)
    _report(ledger, as_json, file=answer)
    if lost:
        stop("workers ended early, see above; start the same command to go on", FAILURE)
    _check_any(ledger, before)
