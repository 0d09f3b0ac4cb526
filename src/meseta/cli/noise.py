"""`meseta noise`: which noise law measured deviations have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meseta.cli.endings import FAILURE, failures, stop, wrong_use
from meseta.cli.opening import Json
from meseta.cli.printing import echo, print_json
from meseta.study.terminal import say

if TYPE_CHECKING:
    from meseta.study.noise_answer import NoiseAnswer


def add_to(app: typer.Typer) -> None:
    app.command("noise")(noise)


def noise(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="MEASURED.csv",
            help="A column of deviations for each parameter, named as in: speed [m/s].",
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="NAME", help="A column of deviations; none: all with numbers."
        ),
    ] = None,
    planned: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column of planned values, in place of deviations."),
    ] = None,
    executed: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The column of what was measured instead."),
    ] = None,
    python: Annotated[
        bool, typer.Option("--python", help="Print lines of Python in place of a study file's.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Draw histograms and fitted laws to this .html, .svg, .png or .pdf file.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    as_json: Json = False,
) -> None:
    """Fit noise laws to measured deviations, and print lines for the study file.

    Deviations are executed minus planned values. Rows are in the order of the measurements.
    """
    with wrong_use():
        from meseta.study.deviation_file import read_deviations

        file = read_deviations(table, columns or (), planned or (), executed or ())
        if output is not None:
            from meseta.study.noise_picture import check_picture

            check_picture(output, table, force=force)
    with failures():
        from meseta.study.noise_answer import in_words, noise_answer, plain
        from meseta.study.toml.noise_lines import python_lines, toml_lines

        answer = noise_answer(file)
        if output is not None:
            _draw(answer, output)
    if as_json:
        print_json(plain(answer))
        return
    for note in file.notes:
        say(note)
    echo(in_words(answer))
    if not answer.lines:
        stop("no column has a law", FAILURE)
    if python:
        echo("import meseta\n\n" + python_lines(answer.lines), nl=False)
    else:
        echo("# for the study file: put each noise line into the table of its parameter")
        echo(toml_lines(answer.lines), nl=False)
    if output is not None:
        say(f"{output} is written")
    else:
        say("a picture of it: -o noise.html")


def _draw(answer: "NoiseAnswer", output: Path) -> None:
    from meseta.study.noise_picture import write_picture

    write_picture(answer, output)
