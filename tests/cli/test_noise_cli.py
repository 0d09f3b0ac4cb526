"""`meseta noise`: tables as people have them, and lines that study files read."""

import ast
import json
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import meseta
from command_line import typed
from meseta.noise.correlated import Correlated
from meseta.noise.fitting import fit_noise
from meseta.study.toml.check import check
from meseta.study.toml.file import read_study
from meseta.study.toml.noise_lines import JointNoise, OwnNoise, python_lines, rounded, toml_lines


def write(path, header, rows, separator=","):
    lines = [separator.join(map(str, row)) for row in (header, *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def batch(n=40, seed=5):
    random = np.random.default_rng(seed)
    arm = random.laplace(0, 0.4, n)
    return np.column_stack([random.normal(0, 0.05, n), arm, 0.3 * arm + random.normal(0, 0.1, n)])


def study_with(folder, lines):
    """The laws of a study file with these lines, and with a range of each parameter."""
    joint = tomllib.loads(lines).get("noise", [])
    together = [name for each in joint for name in each["parameters"]]
    text = re.sub(r"^(\[parameters\..*\])$", r"\1\nlow = 1\nhigh = 9", lines, flags=re.MULTILINE)
    text += "".join(f"\n[parameters.{name}]\nlow = 1\nhigh = 9\n" for name in together)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    study = read_study(folder / "study.toml")
    check(study)
    return study.noise()


def test_a_table_becomes_lines_of_a_study_file(folder):
    rows = [(i + 1, "anna", *(f"{v:.4f}" for v in row)) for i, row in enumerate(batch())]
    titles = ["part", "who", "speed [m/s]", "arm [mm]", "gap [mm]"]
    write(folder / "measured.csv", titles, rows, ";")
    said = typed("noise", "measured.csv")
    assert "speed [m/s]: 40 values" in said.stdout
    assert "arm, gap: deviations go together" in said.stdout
    assert "column 'part' counts the rows, and is left out" in said.stderr
    assert "column 'who' has no numbers, and is left out" in said.stderr
    assert "-o noise.html" in said.stderr
    assert all(len(line) <= 80 for line in said.stdout.splitlines() if "  " in line)
    _, lines = said.stdout.split(
        "# for the study file: put each noise line into the table of its parameter\n"
    )
    laws = study_with(folder, lines)
    assert set(laws) == {"speed", ("arm", "gap")}
    assert isinstance(laws["speed"], meseta.Normal)
    rows = batch()[:, 1:]
    assert laws["arm", "gap"].covariance[0][1] == pytest.approx(
        (rows.T @ rows)[0, 1] / 40, rel=1e-3
    )
    python = typed("noise", "measured.csv", "--python").stdout
    code = python[python.index("import meseta") :]
    scope = {}
    exec(compile(ast.parse(code), "noise", "exec"), scope)
    assert scope["noise"] == laws
    data = json.loads(typed("noise", "measured.csv", "--json").stdout)
    assert data["toml"] == lines
    assert data["columns"]["speed"]["unit"] == "m/s"
    assert data["columns"]["speed"]["best"]["law"] == "normal"
    assert data["together"][0]["names"] == ["arm", "gap"]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_decimal_commas_are_read_as_in_other_tables(folder, encoding):
    values = [row[0] for row in batch()]
    points = ["größe [µm]", *(f"{value:.4f}" for value in values)]
    (folder / "points.csv").write_bytes("\n".join(points).encode("utf-8"))
    commas = [f"{text.replace('.', ',')};x" for text in points]
    (folder / "commas.csv").write_bytes("\n".join(commas).encode(encoding))
    said = typed("noise", "commas.csv")
    assert "numbers are read with decimal commas" in said.stderr
    assert ("it is read as Windows-1252" in said.stderr) == (encoding == "cp1252")
    assert said.stdout == typed("noise", "points.csv").stdout


def test_planned_and_executed_values(folder):
    random = np.random.default_rng(1)
    planned = random.uniform(1, 10, 30)
    done = planned * (1 + 0.05 * random.normal(size=30))
    rows = [(f"{a:.4f}", f"{b:.4f}") for a, b in zip(planned, done, strict=True)]
    write(folder / "doses.csv", ["planned [ml]", "dose [ml]"], [*rows, ("", "3.1"), ("2.0", "")])
    said = typed("noise", "doses.csv", "--planned", "planned", "--executed", "dose [ml]")
    assert "2 rows without 'dose'" in said.stderr
    _, lines = said.stdout.split("of its parameter\n")
    (law,) = study_with(folder, lines).values()
    assert law.relative
    assert law.std == pytest.approx(0.05, rel=0.3)


def test_where_nothing_fits_the_file_itself_is_the_law(folder):
    random = np.random.default_rng(1)
    two = random.normal(0, 0.1, 60) + random.choice([-1, 1], 60)
    write(folder / "arm.csv", ["arm [mm]", "other"], [(f"{v:.4f}", 1) for v in two])
    said = typed("noise", "arm.csv")
    assert 'csv = "arm.csv", column = "arm [mm]"' in said.stdout
    assert "other: all 60 values are 1" in said.stdout
    (law,) = study_with(folder, said.stdout.split("of its parameter\n")[1]).values()
    assert law == meseta.Empirical([round(v, 4) for v in two])
    (folder / "bare.csv").write_text("\n".join(f"{v:.4f}" for v in two))
    said = typed("noise", "bare.csv")
    (law,) = study_with(folder, said.stdout.split("of its parameter\n")[1]).values()
    assert law == meseta.Empirical([round(v, 4) for v in two])
    write(folder / "gaps.csv", ["arm", "n"], [*((f"{v:.4f}", 0) for v in two), ("", 0)])
    said = typed("noise", "gaps.csv", "--column", "arm")
    assert "samples = [" in said.stdout  # a study file would refuse the empty cell
    (law,) = study_with(folder, said.stdout.split("of its parameter\n")[1]).values()
    assert len(law.samples) == 60


@pytest.mark.parametrize("name", ["flow rate", "größe", 'a"b', "x.y", "Ω", "plain-1"])
def test_any_name_is_written_as_toml_has_it(folder, name):
    values = np.random.default_rng(2).normal(0, 0.1, 15)
    fit = fit_noise(values)
    lines = toml_lines([OwnNoise(name, fit.best)])
    assert tomllib.loads(lines)["parameters"][name]["noise"]["law"] == fit.best.name
    assert ast.literal_eval(python_lines([]).removeprefix("noise = ")) == {}


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e7])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_every_fitted_law_comes_back_from_a_study_file(folder, scale, offset):
    random = np.random.default_rng(3)
    planned = random.uniform(1, 9, 40)
    fit = fit_noise(planned + scale * (offset + random.normal(size=40)), planned)
    for law in fit.laws:
        lines = toml_lines([OwnNoise("x", law)])
        (read,) = study_with(folder, lines).values()
        assert type(read).__name__ == type(law.law).__name__
        assert float(read.covariance_matrix.sqrt()) == pytest.approx(
            float(law.law.covariance_matrix.sqrt()), rel=2e-3
        )
        scope = {}
        exec("import meseta\n" + python_lines([OwnNoise("x", law)]), scope)
        assert scope["noise"]["x"] == read
        assert set(rounded(law)) == set(law.arguments)


def test_joint_rows_come_back_from_a_study_file(folder):
    law = Correlated(
        ("a", "b"),
        3,
        ((0.1, 0.2), (0.3, 0.1), (0.2, 0.2)),
        (),
        ((1.0, 1 - 1e-9), (1 - 1e-9, 1.0)),
        (0.5, 0.0),
    )
    for normal in (True, False):
        noise = [JointNoise(law, normal)]
        (read,) = study_with(folder, toml_lines(noise)).values()
        scope = {}
        exec("import meseta\n" + python_lines(noise), scope)
        assert scope["noise"]["a", "b"] == read


TITLED = [
    ("Shift 2\n\n", []),
    ("Shift 2\nfrom: Monday\n", []),
    ("Operator;Ada\nSample;12\n\n", ["--column", "speed", "--column", "arm [mm]"]),
    ("Operator;Ada\n", ["--planned", "speed", "--executed", "arm"]),
]


@pytest.mark.parametrize(("above", "words"), TITLED)
def test_titles_above_the_measurements_are_left_out_and_said(folder, above, words):
    rows = [f"{a:.4f};{b:.4f}".replace(".", ",") for a, b, _ in batch()]
    text = "\n".join(["speed [m/s];arm [mm]", *rows, ""])
    (folder / "plain.csv").write_text(text)
    (folder / "titled.csv").write_text(above + text)
    plain, titled = (typed("noise", f"{name}.csv", *words) for name in ("plain", "titled"))
    assert titled.stdout.replace("titled", "plain") == plain.stdout
    line = above.count("\n") + 1
    assert f"titled.csv:{line} is taken for the line that names the columns" in titled.stderr
    assert "names the columns" not in plain.stderr
    (folder / "titled.csv").write_text(f"{above}{text}x;0\n")
    refused = typed("noise", "titled.csv", *words, code=2).stderr
    assert f"titled.csv:{line + 41}: 'speed [m/s]' must be a finite number" in refused


def test_a_law_of_a_study_file_has_titles_above_its_measurements_too(folder):
    (folder / "batch.csv").write_text("Shift 2\nSample;12\narm;gap\n0,5;1\n-0,5;2\n")
    law = 'noise = { law = "empirical", csv = "batch.csv", column = "arm" }'
    assert study_with(folder, f"[parameters.x]\n{law}\n")["x"] == meseta.Empirical([0.5, -0.5])
    joint = '[[noise]]\nparameters = ["arm", "gap"]\nlaw = "empirical"\ncsv = "batch.csv"\n'
    law = study_with(folder, joint)["arm", "gap"]
    assert law == meseta.Empirical([[0.5, 1], [-0.5, 2]])


REFUSED = {
    "a quote": ('x,who\n0.1,"anna\n0.2,otto\n0.3,"eva"\n', [], "measured.csv:2: a cell begins"),
    "a row above": ("0.1,2\nx,y\n0.2,3\n", ["--column", "x"], "measured.csv:1 looks like a row"),
    "two headers": (
        "x,y\n1,2\nx,y,z\n1,2,3\n",
        ["--column", "x", "--column", "y", "--column", "z"],
        "measured.csv:1 names columns, and so does line 3",
    ),
    "titles as wide": ("Operator;Ada\nx;y\n1;2\n", [], "measured.csv:2: 'Operator' must be"),
    "no file": ("", [], "cannot be read"),
    "an empty one": ("", [], "is empty"),
    "words among numbers": (
        "x\n0.1\nlots\n0.2\n",
        [],
        "measured.csv:3: 'x' must be a finite number",
    ),
    "commas and points": ("x;y\n0,05;1\n-0.1;1\n", [], "measured.csv:3: 'x': '-0.1' has a decimal"),
    "a thousand or a decimal": ("x\n1,234\n2,345\n", [], "'1,234' may be 1.234 or 1234"),
    "too few": ("x\n0.1\n0.2\n", [], "no column has a law"),
    "infinite": ("x\n0.1\ninf\n0.2\n", [], "measured.csv:3"),
    "no numbers": ("who\nanna\notto\n", [], "has no column of numbers"),
    "no titles": ("0.1,0.2\n0.3,0.4\n", [], "a line must name the columns"),
    "twice": ("x,x [mm]\n0.1,0.2\n0.3,0.4\n", [], "two columns 'x'"),
    "ragged": ("x,y\n0.1,0.2\n0.3\n", [], "measured.csv:3: there are 1 cells"),
    "unknown": ("x\n0.1\n0.2\n", ["--column", "z"], "there is no column 'z'"),
    "half a pair": ("x\n0.1\n0.2\n", ["--planned", "x"], "come in pairs"),
    "both": (
        "x\n0.1\n0.2\n",
        ["--planned", "x", "--executed", "x", "--column", "x"],
        "leave it out",
    ),
    "no picture": ("x\n0.1\n0.2\n", ["-o", "noise.doc"], "must end in .html"),
    "no folder": ("x\n0.1\n0.2\n", ["-o", "nowhere/noise.svg"], "no file in a folder"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused(folder, case):
    text, words, message = REFUSED[case]
    if case != "no file":
        (folder / "measured.csv").write_text(text)
    code = 1 if case == "too few" else 2
    assert message in typed("noise", "measured.csv", *words, code=code).stderr
    assert not list(folder.glob("*.svg"))


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("noise.html", b"<!DOCTYPE html>"),
        ("noise.svg", b"<?xml"),
        ("noise.PNG", b"\x89PNG"),
        ("noise.pdf", b"%PDF"),
    ],
)
def test_a_picture_is_drawn_and_nothing_overwritten(folder, name, start):
    title = "<script>alert($x$)</script> [mm]"
    write(folder / "measured.csv", [title], [[f"{v:.4f}"] for v in batch()[:, 1]])
    assert f"{name} is written" in typed("noise", "measured.csv", "-o", name).stderr
    drawn = (folder / name).read_bytes()
    assert drawn.startswith(start)
    assert b"<script>" not in drawn
    assert (
        "exists and is left as it is" in typed("noise", "measured.csv", "-o", name, code=2).stderr
    )
    assert (folder / name).read_bytes() == drawn
    typed("noise", "measured.csv", "-o", name, "--force")
    assert {path.name for path in folder.iterdir()} == {"measured.csv", name}


def test_the_table_is_never_overwritten(folder):
    write(folder / "table.html", ["x"], [[f"{v:.4f}"] for v in batch()[:, 1]])
    before = (folder / "table.html").read_text()
    said = typed("noise", "table.html", "-o", "table.html", "--force", code=2)
    assert "never overwritten" in said.stderr
    assert (folder / "table.html").read_text() == before


def test_control_characters_do_not_reach_the_terminal(folder):
    write(folder / "measured.csv", ["\x1b[31mx"], [[f"{v:.4f}"] for v in batch()[:, 1]])
    said = typed("noise", "measured.csv")
    assert "\x1b" not in said.output
    assert tomllib.loads(said.stdout.split("of its parameter\n")[1])


def test_laws_are_fitted_without_torch(folder):
    write(folder / "measured.csv", ["x"], [[f"{v:.4f}"] for v in batch()[:, 1]])
    code = (
        "import sys\nfrom meseta.cli import app\n"
        "try: app(['noise', 'measured.csv'])\nexcept SystemExit: pass\n"
        "assert 'torch' not in sys.modules and 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
