"""The commands of the arena. Heavy imports happen inside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meseta.cli.endings import FAILURE, failures, stop, termination_as_interrupt, wrong_use
from meseta.cli.listed import split

if TYPE_CHECKING:
    from meseta.arena.plan import ArenaPlan
    from meseta.arena.record import ArenaRecord

arena = typer.Typer(
    help="The arena: rivals on problems with known robust optima, each in one file.",
    no_args_is_help=True,
)

Output = Annotated[Path, typer.Option(help="Folder of records, figures and the page.")]
From = Annotated[Path, typer.Option("--entrants-from", help="Folder of the entrants' files.")]
LONGEST = 1e7  # seconds, four months
MOST_MEMORY = 2.0**20  # GiB
MOST_RUNS, MOST_EVALUATIONS = 10_000, 100_000
FOLDER, ENTRANTS = Path("arena-results"), Path("benchmarks/arena")


def add_to(app: typer.Typer) -> None:
    app.add_typer(arena, name="arena")


@arena.command("list")
def show(entrants_from: From = ENTRANTS) -> None:
    """List the entrants with their settings, and the problems by board."""
    with wrong_use():
        from meseta.arena.entrants import BOARDS, all_entrants
        from meseta.problems import names

        known = all_entrants(entrants_from)
    for entrant in known.values():
        typer.echo(f"{entrant.name:24}{entrant.title}. Boards: {', '.join(entrant.boards)}")
        typer.echo(f"{'':26}{entrant.settings}")
        if entrant.why_not:
            typer.echo(f"{'':26}It does not play: {entrant.why_not}.")
    for board in BOARDS:
        typer.echo(f"board {board}: {', '.join(names(board=board)) or 'no problems'}")


@arena.command()
def run(
    entrants: Annotated[
        list[str] | None, typer.Option(help="Such as meseta-rkg,sobol; none: all.")
    ] = None,
    problems: Annotated[
        list[str] | None, typer.Option(help="Such as gmm,hartmann3; none: all.")
    ] = None,
    board: Annotated[str | None, typer.Option(help="mean, risk or constraints; none: all.")] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Runs of each entrant on each problem.")
    ] = 10,
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_EVALUATIONS,
            help="Evaluations of each run; none: those of the problem.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a Dask cluster to use.")
    ] = None,
    within_seconds: Annotated[
        float | None, typer.Option(min=0, help="Give out no more runs after this time.")
    ] = None,
    run_seconds: Annotated[
        float, typer.Option(help="Seconds of the processor that an entrant has for a run.")
    ] = 1200.0,
    step_seconds: Annotated[
        float | None, typer.Option(help="The same for each of its calls; none: that of the run.")
    ] = None,
    memory: Annotated[
        float, typer.Option(help="GiB that each process of an entrant may take.")
    ] = 12.0,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat runs that failed.")
    ] = False,
    entrants_from: From = ENTRANTS,
    output: Output = FOLDER,
) -> None:
    """Do the runs that are missing: all entrants and problems with one seed, then with the next.

    Finished runs are never repeated: after an interruption, start the same command again. Failed
    ones count, and are repeated by --retry-failed only.
    """
    with wrong_use():
        from meseta.arena.entrants import chosen_entrants
        from meseta.arena.plan import changed_since, keep_plan, make_plan

        if dask and within_seconds is not None:
            raise ValueError("a Dask cluster is given all runs at once: leave --within-seconds out")
        step_seconds = run_seconds if step_seconds is None else step_seconds
        for option, seconds in (("run", run_seconds), ("step", step_seconds)):
            if not 0 < seconds < LONGEST:
                raise ValueError(f"--{option}-seconds must be above 0 and finite, got {seconds:g}")
        if not 0 < memory < MOST_MEMORY:
            raise ValueError(f"--memory must be above 0 and finite, got {memory:g} GiB")
        plan = make_plan(
            chosen_entrants(entrants_from, split(entrants)),
            problems=split(problems),
            board=board,
            runs=runs,
            evaluations=evaluations,
        )
    for entrant in plan.entrants:
        if entrant.why_not:
            typer.echo(f"{entrant.name} does not play: {entrant.why_not}")
    with failures(), termination_as_interrupt():
        from meseta.arena.keeper import can_adopt
        from meseta.arena.match import Rules
        from meseta.arena.record import lost
        from meseta.bench.records import Writing
        from meseta.bench.watch import plan_lines, watched_campaign
        from meseta.bench.workers import cluster, processes

        with Writing(output):  # who may not write changes nothing
            keep_plan(output, plan)
        for line in changed_since(output, plan, entrants_from):
            typer.echo(line)
        if not dask and not can_adopt():
            typer.echo(
                "On this system, what an entrant starts in a session of its own is not counted, "
                "and may go on after its run."
            )
        rules = Rules(entrants_from.absolute(), run_seconds, step_seconds, memory * 2**30)
        team = cluster(dask, rules.play, lost) if dask else processes(workers, rules.play)
        watched_campaign(
            output, plan, team, retry_failed=retry_failed, within_seconds=within_seconds
        )
        typer.echo("\n".join(plan_lines(output, plan)))


@arena.command()
def table(output: Output = FOLDER) -> None:
    """Show ranks, regrets, seconds and failures, by both recommendations."""
    with failures():
        from meseta.arena.plan import kept_plan
        from meseta.arena.tables import board_tables, failure_lines
        from meseta.bench.campaign import progress

        plan = kept_plan(output)
        records = progress(output, plan).ended
        if not records:
            stop(f"no run in {output} has ended yet", FAILURE)
        typer.echo("\n".join([*board_tables(plan, records, {}), *failure_lines(records)]))


@arena.command()
def page(
    no_figures: Annotated[
        bool, typer.Option("--no-figures", help="Leave the figures as they are.")
    ] = False,
    output: Output = FOLDER,
) -> None:
    """Pack the records, draw the figures and write the page, from the records alone."""
    with failures():
        from meseta.arena.page import check_page, check_page_of, write_page
        from meseta.arena.plan import kept_plan
        from meseta.bench.campaign import progress
        from meseta.bench.compression import pack

        check_page(output)
        plan = kept_plan(output)
        pack(output)
        now = progress(output, plan)
        check_page_of(output, now.ended)
        if not no_figures:
            _draw(output, plan, now.ended)
        typer.echo(write_page(output, plan, now))


def _draw(output: Path, plan: "ArenaPlan", records: "list[ArenaRecord]") -> None:
    try:
        from meseta.arena.figures import draw_figures
    except ImportError as error:
        from meseta.boundary import missing

        raise missing(f"figures need matplotlib ({error})", "bench") from error
    for path in draw_figures(output, plan, records):
        typer.echo(path)
