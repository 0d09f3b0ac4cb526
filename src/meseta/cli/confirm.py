"""`meseta confirm`: runs of the recommended design as it will be used, and what they say."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from meseta.cli.endings import NOTHING_YET, failures, stop, wrong_use
from meseta.cli.opening import Json, StudyPath, opened
from meseta.cli.printing import check_form, echo, print_json
from meseta.cli.study import Csv, Xlsx, print_planned
from meseta.cli.tables import TableCommand
from meseta.study.terminal import say

if TYPE_CHECKING:
    from pathlib import Path

    from meseta.optimizer.confirmation import Confirmation
    from meseta.study.confirming import How, Plan


def add_to(app: typer.Typer) -> None:
    app.command(cls=TableCommand)(confirm)


def confirm(
    path: StudyPath,
    n: Annotated[
        int | None,
        typer.Option("-n", min=2, help="Plan this number of runs; none: judge those told."),
    ] = None,
    as_it_comes: Annotated[
        bool,
        typer.Option(
            "--as-it-comes",
            help="Set the design itself, and let the noise act; none: perturbed on purpose.",
        ),
    ] = False,
    as_json: Json = False,
    csv: Csv = False,
    xlsx: Xlsx = None,
) -> None:
    """Plan runs of the recommended design as it will be used, and say whether the promise held.

    Their results are told as those of other trials. They are beside the budget.
    """
    if n is None:
        with wrong_use():
            if as_it_comes or csv or xlsx is not None:
                raise ValueError("--as-it-comes, --csv and --xlsx go with -n, which plans runs")
        _judge(path, as_json)
        return
    with failures(), wrong_use():
        check_form(csv, as_json, xlsx)
        from meseta.study import excel
        from meseta.study.lab import check_num

        check_num(n)
        with excel.new_file(xlsx) as file, failures():
            ledger = opened(path)
            from meseta.study import confirming, show
            from meseta.study.progress import progress

            if not progress(ledger.trials, None).complete:
                stop("there is no value yet to recommend by; run or tell some trials", NOTHING_YET)
            how: How = "as-it-comes" if as_it_comes else "on-purpose"
            planned, answer = confirming.plan_runs(ledger, n, how)
            if file is not None:
                excel.write_sheet(file, show.planned_cells(ledger.file, planned))
    low, high = answer.interval
    promise = f"{answer.optimizer.measure.in_words()} {answer.mean:.5g} ({low:.5g} to {high:.5g})"
    design = ", ".join(f"{name} = {show.in_a_line(value)}" for name, value in answer.params.items())
    if as_json:
        runs = show.planned_data(planned)
        print_json({"design": answer.params, "promise": [low, answer.mean, high], "runs": runs})
        return
    say(f"the design is {design}; promised: {promise}")
    print_planned(ledger, planned, csv, xlsx)
    if not csv and xlsx is None:
        echo(f"tell their results, then `meseta confirm {path}` says whether the promise held")


def _judge(path: "Path", as_json: bool) -> None:
    ledger = opened(path, reading=True)
    with failures():
        from meseta.optimizer.confirmation import LEAST
        from meseta.study import confirming

        with wrong_use():
            plan = confirming.last_plan(ledger)
            valued = sum(trial.value is not None for trial in plan.told)
            if valued < LEAST:
                pending = ", ".join(map(str, plan.pending))
                left = f"pending: {pending}" if pending else "none is pending: plan others by -n"
                stop(
                    f"{valued} of {len(plan.trials)} runs gave a value, which is too few to judge "
                    f"by; {left}",
                    NOTHING_YET,
                )
        found = confirming.judged(ledger, plan)
    if as_json:
        print_json(_data(plan, found))
        return
    echo(str(found))
    if not found.held:
        echo(
            "Either the noise is larger than the file says, or another one, or the model is wrong "
            f"there: the page of `meseta report {path}` shows whether the model can be relied on"
        )
    if plan.pending:
        say(f"not told yet: {', '.join(map(str, plan.pending))}")


def _data(plan: "Plan", found: "Confirmation") -> dict[str, Any]:
    return {
        "held": found.held,
        "verdict": found.verdict,
        "design": plan.design,
        "how": plan.how,
        "measure": found.words,
        "runs": found.runs,
        "failed": found.failed,
        "pending": plan.pending,
        "found": found.found,
        "expected": list(found.expected),
        "promised": found.promised.mean,
        "scatter": found.promised.scatter,
        "constraints": {name: kept._asdict() for name, kept in found.constraints.items()},
    }
