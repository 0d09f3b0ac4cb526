"""The command line. Heavy imports happen inside the commands."""

import atexit
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import meseta
from meseta.cli import arena as cli_arena
from meseta.cli import confirm as cli_confirm
from meseta.cli import noise as cli_noise
from meseta.cli import study as cli_study
from meseta.cli import tolerances as cli_tolerances
from meseta.cli.endings import FAILURE, failures, stop, termination_as_interrupt, wrong_use
from meseta.cli.listed import split

if TYPE_CHECKING:
    from meseta.bench.plan import Plan

app = typer.Typer(
    help="Designs that stay good when the inputs don't.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(
    help="The paper's experiments: run them, and compare methods.",
    no_args_is_help=True,
)
cli_study.add_to(app)
cli_confirm.add_to(app)
cli_tolerances.add_to(app)
cli_noise.add_to(app)
app.add_typer(bench, name="bench")
cli_arena.add_to(app)

Output = Annotated[Path, typer.Option(help="Folder of records, figures and the results page.")]
Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Experiments, see `meseta bench list`; all.")
]
Which = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Experiments; none: all that the folder has."),
]
FOLDER = Path("bench-results")


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"meseta {meseta.__version__}")


@bench.command("list")
def show_experiments() -> None:
    """List the experiments, with their problems, methods and runs."""
    from meseta.bench.experiments import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        typer.echo(f"{experiment.name:14}{experiment.title}. {experiment.shows}")
        if experiment.problems:
            typer.echo(f"{'':14}  problems  {', '.join(experiment.problems)}")
            typer.echo(f"{'':14}  methods   {', '.join(experiment.methods)}")
            typer.echo(f"{'':14}  runs      {experiment.runs} of each method on each problem")


@bench.command()
def run(
    names: Names,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each method.")] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="Such as rkg,nes-ep:num_max_values=10; none: those of the experiment."),
    ] = None,
    problems: Annotated[list[str] | None, typer.Option(help="Such as gmm,hartmann3.")] = None,
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Evaluations of each run; none: as in the paper.")
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="The prior of the lengthscales: default, or paper.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a Dask cluster to use.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat runs that failed.")
    ] = False,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Only do the runs.")] = False,
    output: Output = FOLDER,
) -> None:
    """Do the runs that are missing, then draw the figures and write the results page.

    Finished runs are never repeated: after an interruption, start the same command again.
    """
    from meseta.bench.experiments import EXPERIMENTS

    with wrong_use():
        from meseta.bench.plan import keep_plan, make_plan

        if not no_figures:
            from meseta.bench.results_page import check_page

            check_page(output)
        plans = [
            make_plan(
                name,
                problems=split(problems),
                methods=split(methods),
                runs=runs,
                prior=prior,
                evaluations=evaluations,
            )
            for name in (EXPERIMENTS if names == ["all"] else names)
        ]
    failures = 0
    for plan in plans:
        whole = keep_plan(output, plan)  # with what was asked for under this name before
        failures += _do(plan, output, workers, dask, retry_failed)
        if not no_figures:
            _draw(whole, output)
    if not no_figures:
        _write_page(output)
    if failures:
        stop(
            f"{failures} runs failed; `meseta bench status --output {output}` says why, and "
            "--retry-failed repeats them",
            FAILURE,
        )


@bench.command()
def status(output: Output = FOLDER) -> None:
    """Show the progress of every experiment in the folder, and what failed."""
    from meseta.bench.watch import status_lines

    with failures():
        lines = status_lines(output)
    _echo(lines or [f"{output} has no experiments yet; start with `meseta bench run quick`"])


@bench.command()
def figures(names: Which = None, output: Output = FOLDER) -> None:
    """Draw the figures again, from the records alone."""
    for plan in _plans(names, output, pictures=True):
        _draw(plan, output)


@bench.command()
def table(
    names: Which = None,
    reference: Annotated[
        str | None, typer.Option(help="Method that the others are compared with.")
    ] = None,
    output: Output = FOLDER,
) -> None:
    """Show medians, mean ranks, and which differences are real."""
    plans = _plans(names, output)
    with failures():
        from meseta.bench.results_page import tables

        for plan in plans:
            _echo(tables(output, plan, reference))


@bench.command()
def claims(output: Output = FOLDER) -> None:
    """Show the paper's claims, each with the verdict of the records."""
    _plans(None, output)
    with failures():
        from meseta.bench.claims import claim_lines

        _echo(claim_lines(output))


@bench.command()
def page(output: Output = FOLDER) -> None:
    """Write the results page, from the records alone."""
    _plans(None, output)
    _write_page(output)


@bench.command()
def pack(output: Output = FOLDER) -> None:
    """Make the records small, to keep them in a repository; a campaign can go on all the same."""
    _plans(None, output)
    with failures():
        from meseta.bench.compression import pack as pack_folder

        packed = pack_folder(output)
        for path, before, after in packed:
            typer.echo(f"{path}  {before / 1e3:.0f} kB -> {after / 1e3:.0f} kB")
        if not packed:
            typer.echo("nothing has been added since the last time")


def _do(plan: "Plan", output: Path, workers: int, dask: str | None, retry_failed: bool) -> int:
    """Carry out a plan; returns the number of failed runs."""
    with failures(), termination_as_interrupt():
        from meseta.bench.watch import watched_campaign, watched_timings
        from meseta.bench.workers import cluster, processes

        if plan.of.kind == "picture":
            return 0
        if plan.of.kind == "timing":
            watched_timings(output, plan)
            return 0
        from meseta.bench.one_run import run as one_run
        from meseta.bench.records import failed

        team = cluster(dask, one_run, failed) if dask else processes(workers, one_run)
        done = watched_campaign(output, plan, team, retry_failed=retry_failed)
        return len(done.failed)


def _draw(plan: "Plan", output: Path) -> None:
    with failures():
        try:
            from meseta.bench.pictures import draw
        except ImportError as error:
            from meseta.boundary import missing

            raise missing(f"figures need matplotlib ({error})", "bench") from error
        for path in draw(output, plan):
            typer.echo(path)


def _write_page(output: Path) -> None:
    with failures():
        from meseta.bench.results_page import write_page

        typer.echo(write_page(output))


def _plans(names: list[str] | None, output: Path, pictures: bool = False) -> "list[Plan]":
    """The plans of the folder, or those of these names in it; pictures need no folder."""
    with wrong_use():
        from meseta.bench.plan import kept_plans, make_plan

        kept = kept_plans(output)
        if not names and not kept:
            raise ValueError(
                f"{output} has no experiments; start with `meseta bench run quick`, or name "
                "another folder by --output"
            )
        if not names:
            return kept
        found = []
        for name in names:
            mine = [plan for plan in kept if name in (plan.name, plan.experiment)]
            if not mine:
                plan = make_plan(name)
                if not (pictures and plan.of.kind == "picture"):
                    raise ValueError(
                        f"{output} has no runs of {name!r} yet; start with "
                        f"`meseta bench run {name}`"
                    )
                mine = [plan]
            found += mine
        return found


def _echo(lines: list[str]) -> None:
    typer.echo("\n".join(lines))


def start() -> None:
    """Run the command as a process of its own.

    Importing torch and its company makes millions of objects, and nearly all of them stay: looking
    for garbage among them, on the way in and again on the way out, takes more than a second.
    """
    gc.set_threshold(100_000, 50, 100)
    atexit.register(gc.freeze)
    app()
