"""Tables as laboratories have them: decimal commas, units, remarks, Excel files."""

import csv
import datetime
import io
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import typed
from examples import examples
from meseta.integrations.optuna.attributes import COMMENT, ERROR, EXECUTED, OUTCOMES
from meseta.space.parameter import Float
from meseta.study import csv_file, encodings, tables, workbook
from meseta.study import lab as by_hand
from meseta.study.decimals import Style, notes_on, numeral, styles
from meseta.study.deviation_file import read_deviations
from meseta.study.digits import is_same, readable
from meseta.study.encodings import mended
from meseta.study.headers import Column, find_columns, headings
from meseta.study.history import read_history
from meseta.study.ledger import open_ledger
from meseta.study.progress import kind_of
from meseta.study.show import planned_cells
from meseta.study.tables import read_table, study_columns
from meseta.study.toml.file import read_study
from meseta.study.toml.measurements import read_columns

LAB = """
[study]
method = "sobol"
value = "strength"
unit = "MPa"
[parameters.temperature]
low = 20.0
high = 80.0
unit = "°C"
[parameters.catalyst]
low = 0.001
high = 0.1
log = true
unit = "g/l"
[parameters.layers]
type = "int"
low = 1
high = 2000
[parameters.level]
choices = [0.5, 1.0, 2.5]
[parameters."Öl"]
choices = ["pflanzlich, kalt", "=1+1", "1,5"]
[parameters.stirred]
choices = [true, false]
[parameters.wind]
low = 0.0
high = 10.0
unit = "m/s"
noise = { law = "uniform", half_width = 2.0, mean = 5.0, observed = true }
[constraints.stress]
at_most = 250
unit = "MPa"
"""
COUNT = 5


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    typed("ask", folder / "lab.toml", "-n", COUNT)
    return folder


@pytest.fixture
def lab(folder, prepared):
    """A study with experiments in hand."""
    for path in prepared.iterdir():
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def asked(prepared):
    """The study, and what was asked for."""
    ledger = open_ledger(read_study(prepared / "lab.toml"), reading=True)
    planned = [by_hand._pending_trial(ledger, t.number, t.params) for t in ledger.trials]
    return ledger, planned_cells(ledger.file, planned)


def trials(path="lab.toml"):
    return open_ledger(read_study(path), reading=True).trials


def tell(text, code=0, name="told.csv", encoding="utf-8"):
    Path(name).write_bytes(text.encode(encoding))
    return typed("tell", "lab.toml", "--table", name, code=code)


def sheet(rows, name="told.xlsx", **more):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title, others in more.items():
        other = book.create_sheet(title)
        for row in others:
            other.append(row)
    book.save(name)


# --- there and back again ---


@st.composite
def filled(draw):
    """A table as a person hands it back."""
    return {
        "kind": draw(st.sampled_from([",", ";", "\t", "xlsx"])),
        "commas": draw(st.booleans()),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        "units": draw(st.sampled_from(["{} [{}]", "{} ({})", "{} / {}", "{}/{}", "  {} [{}] "])),
        "case": draw(st.sampled_from([str, str.upper, str.title])),
        "seed": draw(st.integers(0, 2**20)),
        "blank_lines": draw(st.booleans()),
        "values": draw(
            st.lists(
                st.decimals(-2000, 2000, places=draw(st.integers(0, 5))).map(float)
                | st.sampled_from(["", "failed"]),
                min_size=COUNT,
                max_size=COUNT,
            )
        ),
        "extras": draw(st.lists(st.sampled_from(["operator", "date", "Remarks"]), unique=True)),
    }


def spelled(value, commas):
    text = "" if value is None else str(value)
    if isinstance(value, float) and commas:
        return repr(value).replace(".", ",")
    return {"True": "TRUE", "False": "FALSE"}.get(text, text)


def handed_back(cells, how, path):
    """Write the table as that person does."""
    chance = random.Random(how["seed"])
    header, rows = list(cells.header), [list(row) for row in cells.rows]
    place = {name.split(" [")[0]: i for i, name in enumerate(header)}
    for row, value in zip(rows, how["values"], strict=True):
        row[place["strength"]] = value
        if value != "":
            row[place["stress"]], row[place["wind"]] = 231.25, 4.5
    for i, name in enumerate(header):
        if " [" in name:
            plain, unit = name[:-1].split(" [")
            header[i] = how["units"].format(how["case"](plain), unit)
        else:
            header[i] = how["case"](name)
    for name in how["extras"]:
        header.append(name)
        for row in rows:
            row.append(chance.choice(["Bob, Al", "1,234", "3.5.2024", None]))
    order = chance.sample(range(len(header)), len(header))
    chance.shuffle(rows)
    lines = [[line[i] for i in order] for line in (header, *rows)]
    if how["kind"] == "xlsx":
        book = openpyxl.Workbook()
        for number, line in enumerate(lines, start=3 if how["blank_lines"] else 1):
            for column, value in enumerate(line, start=2):
                cell = book.active.cell(number, column, value)
                if isinstance(value, str):
                    cell.data_type = "s"
        book.save(path)
        return
    text = io.StringIO()
    writer = csv.writer(text, delimiter=how["kind"])
    for line in lines:
        if how["blank_lines"]:
            text.write("\r\n")
        writer.writerow([spelled(value, how["commas"]) for value in line])
    path.write_bytes(text.getvalue().encode(how["encoding"]))


@given(how=filled())
@examples(25)
def test_what_was_asked_for_is_told_back_in_every_shape(asked, tmp_path_factory, how):
    ledger, cells = asked
    path = tmp_path_factory.mktemp("told") / f"told.{'xlsx' if how['kind'] == 'xlsx' else 'csv'}"
    handed_back(cells, how, path)
    try:
        told = by_hand.read_outcomes(ledger, path)
    except ValueError as error:
        unclear = "may be" in str(error)  # 1,234 alone may be a thousand
        if not unclear:
            raise
        return
    expected = {number: value for number, value in enumerate(how["values"]) if value != ""}
    found = {each.number: "failed" if each.value is None else each.value for each in told.new}
    assert found == expected
    for each in told.new:
        assert each.executed == {"wind": 4.5}  # no deviation
        assert each.others == {"stress": 231.25}
    commas = how["commas"] and how["kind"] != "xlsx"
    assert any("decimal commas" in note for note in told.notes) == commas
    assert sum("left out" in note for note in told.notes) == bool(how["extras"])
    assert all(name in str(told.notes) for name in how["extras"])


@pytest.mark.parametrize("option", ["--csv", "--xlsx"])
def test_by_the_commands_themselves(folder, option):
    (folder / "lab.toml").write_text(LAB, encoding="utf-8")
    if option == "--csv":
        printed = typed("ask", "lab.toml", "-n", 2, "--csv").stdout
        rows = list(csv.reader(io.StringIO(printed)))
    else:
        said = typed("ask", "lab.toml", "-n", 2, "--xlsx", "next.xlsx").stdout
        assert "next.xlsx is written: fill it in, then `meseta tell lab.toml --table" in said
        book = openpyxl.load_workbook("next.xlsx")
        rows = [list(row) for row in book.active.iter_rows(values_only=True)]
    assert rows[0] == [
        "trial",
        "temperature [°C]",
        "catalyst [g/l]",
        "layers",
        "level",
        "Öl",
        "stirred",
        "wind [m/s]",
        "strength [MPa]",
        "stress [MPa]",
    ]
    for row in rows[1:]:
        row[-3:] = [4.5, 0.75, 200]
    if option == "--csv":
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        Path("next.csv").write_text(text.getvalue(), encoding="utf-8")
    else:
        for number, row in enumerate(rows, start=1):
            for column, value in enumerate(row, start=1):
                if number > 1 and column > 7:
                    book.active.cell(number, column, value)
        book.save("next.xlsx")
    name = f"next.{option[2:]}"
    assert "2 stored" in typed("tell", "lab.toml", "--table", name).output
    assert [trial.value for trial in trials()] == [0.75, 0.75]
    assert all(trial.user_attrs[EXECUTED] == {"wind": 4.5} for trial in trials())
    assert "2 rows had been told before" in typed("tell", "lab.toml", "--table", name).stderr
    typed("status", "lab.toml", "--xlsx", "all.xlsx")
    assert "2 rows had been there already" in typed("import", "lab.toml", "all.xlsx").stderr
    (folder / "two.toml").write_text(LAB, encoding="utf-8")
    assert "2 stored" in typed("import", "two.toml", "all.xlsx").output
    assert [t.params for t in trials("two.toml")] == [
        {**t.params, "wind": 4.5} for t in trials("lab.toml")
    ]


# --- numbers ---


@pytest.mark.parametrize(
    ("text", "mark", "sure", "plain"),
    [
        ("0.82", ".", True, "0.82"),
        ("0,82", ",", True, "0.82"),
        ("\u22120,82", ",", True, "-0.82"),
        ("1,234", ",", False, "1.234"),
        ("1.234", ".", False, "1.234"),
        ("0,123", ",", True, "0.123"),
        ("1234,567", ",", True, "1234.567"),
        ("1,234e3", ",", True, "1.234e3"),
        ("1.234,5", ",", True, "1234.5"),
        ("1,234.5", ".", True, "1234.5"),
        ("1.234.567", ",", True, "1234567"),
        ("1,234,567", ".", True, "1234567"),
        ("12,", ",", True, "12."),
        ("17", None, True, "17"),
    ],
)
def test_decimals_that_are_clear_and_those_that_are_not(text, mark, sure, plain):
    found = numeral(text)
    assert (found.mark, found.sure, found.plain(found.mark)) == (mark, sure, plain)


@pytest.mark.parametrize(
    "text",
    ["", ",", "failed", "3.5.2024", "1,2,3", "1.23,4.5", "1 234", "1_5", "0x1", "\u0663,\u0665"],
)
def test_what_is_no_number_stays_as_it_is(text):
    assert numeral(text) is None
    assert Style((",",)).read(text) == text


@pytest.mark.parametrize(
    ("columns", "semicolons", "read"),
    [
        ([["0,5", "1,234"]], False, [[0.5, 1.234]]),
        ([["0.5", "1.234"]], False, [[0.5, 1.234]]),
        ([["1.234"]], True, [[1.234]]),
        ([["1,234"]], True, [[1.234]]),
        ([["0,5"], ["1,234"]], False, [[0.5], [1.234]]),
        ([["0,5"], ["0.5"]], False, [[0.5], [0.5]]),  # a table of ours, filled in by hand
        ([["1.234,5", "1.000.000", "1,234"]], False, [[1234.5, 1e6, 1.234]]),
        ([["1,234.5", "1,000,000", "1.234"]], False, [[1234.5, 1e6, 1.234]]),
        ([["1,234"]], False, "'1,234' may be 1.234 or 1234"),
        ([["0.5", "1,234"]], True, "'1,234' may be 1.234 or 1234"),
        ([["0,5", "1.234"]], False, "'1.234' may be 1.234 or 1234"),
        ([["0,5"], ["1.234"]], False, "'1.234' may be 1.234 or 1234"),
        ([["1,234", "1.234"]], True, "'1.234' may be 1.234 or 1234"),
        ([["0,5"], ["0.5"], ["1.234"]], False, "'1.234' may be 1.234 or 1234"),
        ([["0,5", "0.5"]], True, "'0.5' has a decimal point, but other numbers here have"),
    ],
)
def test_the_numbers_beside_it_decide(columns, semicolons, read):
    known = styles(columns, semicolons)

    def every():
        return [
            [float(style.read(text)) for text in texts]
            for style, texts in zip(known, columns, strict=True)
        ]

    if not isinstance(read, str):
        assert every() == read
        return
    with pytest.raises(ValueError, match=read):
        every()


def test_what_is_read_otherwise_than_programs_do_is_said():
    def said(*texts):
        return notes_on(map(numeral, texts))

    assert said("0.5", "17", "much") == []
    assert said("1.234,5", "0,5") == [
        "numbers are read with decimal commas: 0,5 is 0.5",
        "separators of thousands are left out: 1.234,5 is 1234.5",
    ]
    assert said("1.234,5") == ["numbers are read with decimal commas: 1.234,5 is 1234.5"]
    assert said("1,234.5") == ["separators of thousands are left out: 1,234.5 is 1234.5"]


def test_the_range_of_a_parameter_tells_a_decimal_from_a_thousand():
    near, far, wide = (20.0, 80.0), (1000.0, 2000.0), (1.0, 2000.0)
    (style,) = styles([["48.506"]], True, [near])
    assert style.read("48.506") == "48.506"
    first, second = styles([["48.506"], ["0,82"]], True, [near, None])
    assert (first.read("48.506"), second.read("0,82")) == ("48.506", "0.82")
    assert styles([["1,234"]], False, [(0.0, 2.0)])[0].read("1,234") == "1.234"
    assert styles([["1.234"]], False, [far])[0].read("1.234") == "1.234"  # as programs write it
    for ends in (far, wide):
        first, _ = styles([["1.234"], ["0,82"]], True, [ends, None])
        with pytest.raises(ValueError, match=r"may be 1\.234 or 1234"):
            first.read("1.234")


def test_a_table_of_ours_may_be_filled_in_with_decimal_commas(lab, asked):
    _, cells = asked
    rows = [[*row[:-3], "4,5", "0,82", "231,5"] for row in cells.rows]
    text = io.StringIO()
    csv.writer(text).writerows([cells.header, *rows])
    assert f"{COUNT} stored" in tell(text.getvalue()).output
    assert all(trial.user_attrs[EXECUTED] == {"wind": 4.5} for trial in trials())


def test_numbers_that_are_typed_may_have_a_comma(lab):
    said = typed("tell", "lab.toml", 0, "0,82", "stress=231,5", "--set", "wind=4,5")
    assert "numbers are read with decimal commas: 0,82 is 0.82" in said.stderr
    typed("tell", "lab.toml", 1, "failed", "stress=failed", "--set", "level=2,5")
    typed("tell", "lab.toml", 2, "failed", "stress=failed", "--set", "stirred=TRUE")
    typed("tell", "lab.toml", 3, "failed", "stress=failed", "--set", "Öl=1,5")
    told = trials()
    assert (told[0].value, told[0].user_attrs[OUTCOMES]) == (0.82, {"stress": 231.5})
    assert {**told[1].params, **told[1].user_attrs.get(EXECUTED, {})}["level"] == 2.5
    assert {**told[2].params, **told[2].user_attrs.get(EXECUTED, {})}["stirred"] is True
    assert {**told[3].params, **told[3].user_attrs.get(EXECUTED, {})}["Öl"] == "1,5"


def test_an_unclear_number_is_refused_with_its_place_and_nothing_is_stored(lab):
    head = "trial,strength,stress,wind\n"
    refused = tell(f'{head}0,0.5,1,4\n1,"1,234",1,4\n', code=2).stderr
    assert "told.csv:3: 'strength': '1,234' may be 1.234 or 1234; write one of these" in refused
    refused = tell(f"{head}0,0,5,1,4\n", code=2).stderr
    assert "told.csv:2: there are 5 cells, but line 1 names 4 columns; if its" in refused
    assert not any(trial.state.is_finished() for trial in trials())


# --- columns ---

KNOWN = [
    Column("temperature", True, "°C"),
    Column("rate", True),
    Column("strength", True, "MPa", "value"),
    Column("w", True, "m/s"),
    Column("trial"),
    Column("state"),
    Column("failed"),
]


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("temperature", "temperature"),
        ("Temperature", "temperature"),
        ("temperature [°C]", "temperature"),
        ("TEMPERATURE[°C]", "temperature"),
        ("temperature ( °C )", "temperature"),
        ("temperature / °C", "temperature"),
        ("temperature/°C", "temperature"),
        ("temperature [℃]", "temperature"),
        ("temperature []", "temperature"),
        ("w / m/s", "w"),
        ("w/m/s", "w"),
        ("value", "strength"),
        ("Value (MPa)", "strength"),
        ("rate [1/min]", "rate"),
        ("TRIAL", "trial"),
        ("w/o catalyst", None),
        ("operator", None),
        ("date", None),
        ("remarks", None),
        ("status", None),
    ],
)
def test_columns_are_recognised(heading, name):
    found = find_columns("t.csv", [heading], KNOWN)
    assert found.places == ({} if name is None else {name: 0})
    if name is None:
        assert found.notes == [f"t.csv: the column is left out: {heading!r}"]
    elif name == "rate":
        assert "given in '1/min'; the study file names no unit" in found.notes[0]
    else:
        assert found.notes == []


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (["temprature"], "there is no column 'temprature' .did you mean 'temperature'"),
        (["Temprature [°C]"], "there is no column 'Temprature.*did you mean 'temperature'"),
        (["stregth / MPa"], "did you mean 'strength'"),
        (["failure"], "did you mean 'failed'"),
        (["valu"], "there is no column 'valu'"),
        (["temperature [K]"], "is in 'K', but the unit of 'temperature' is '°C'"),
        (["strength (mPa)"], "is in 'mPa', but the unit of 'strength' is 'MPa'"),
        (["temperature / set"], "is in 'set', but the unit"),
        (["rate", "rate"], "there are two columns 'rate'; rename one"),
        (["temperature", "Temperature [°C]"], "are both taken for 'temperature'"),
        (["value", "strength [MPa]"], "has a column 'value' and a column 'strength .MPa.', which"),
    ],
)
def test_columns_that_are_refused(header, says):
    with pytest.raises(ValueError, match=says):
        find_columns("t.csv", header, KNOWN)


def test_a_column_that_is_there_is_no_reason_to_refuse_another():
    found = find_columns("t.csv", ["date", "rate", "temperature [°C]", "temperature [K]"], KNOWN)
    assert found.places == {"rate": 1, "temperature": 2}
    assert found.notes == ["t.csv: the columns are left out: 'date', 'temperature [K]'"]
    assert find_columns("t.csv", ["rate", "rate (old)"], KNOWN).places == {"rate": 0}


def test_names_that_differ_by_case_alone_are_not_guessed():
    both = [Column("x"), Column("X")]
    assert find_columns("t.csv", ["X", "x"], both).places == {"X": 0, "x": 1}
    both = [Column("Abc"), Column("aBc")]
    with pytest.raises(ValueError, match="there is no column 'abc'"):
        find_columns("t.csv", ["abc"], both)


def test_headings_are_read_back():
    columns = [Column("x", unit="mm"), Column("x [mm]"), Column("y", unit="s"), Column("z [")]
    header = headings(columns)
    assert header == ["x", "x [mm]", "y [s]", "z ["]
    places = {column.name: i for i, column in enumerate(columns)}
    assert find_columns("t.csv", header, columns).places == places


def test_a_table_without_an_outcome_has_nothing_to_tell(lab):
    assert "has no column 'trial'" in tell("strength\n1\n", code=2).stderr
    refused = tell("trial,result\n0,1\n", code=2).stderr
    assert "has no column 'strength' or 'stress' or 'failed', but 'trial'" in refused


def test_rows_and_columns_beside_the_table_are_left_out_and_said(lab):
    said = tell("trial;strength;stress;wind;;\n0;1;2;3;;\n\n;;;;;mean 1,5\n;;;;; \n").stderr
    assert "1 row has nothing in the columns that are read, and left out" in said
    assert "the column has no name, and left out: number 6" in said
    assert trials()[0].value == 1.0


def test_the_first_line_may_name_the_separator(lab):
    assert "stored" in tell("sep=;\r\ntrial;strength;stress;wind\r\n0;1,5;2;3\r\n").output
    assert "told.csv:3: " in tell("sep=;\ntrial;strength\n9;1,5\n", code=2).stderr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(lab, encoding):
    text = "trial;temperature [°C];Öl;strength;stress;wind\n0;;=1+1;0,5;1;2\n"
    said = tell(text, encoding=encoding).stderr
    assert trials()[0].value == 0.5
    assert ("told.csv is not UTF-8; it is read as Windows-1252" in said) == (encoding == "cp1252")


def test_letters_that_excel_has_damaged_are_mended(lab):
    text = "trial;temperature [°C];Öl;strength;stress;wind\n0;;=1+1;failed;failed;\n"
    damaged = text.encode().decode("cp1252")
    assert "damaged, as by Excel" in tell(damaged).stderr
    assert kind_of(trials()[0]) == "failed"
    for whole in ("°C", "Kälte", "ñandú", "50 €", "Ã", "Â °C"):
        assert mended(whole) == whole


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"trial,strength\n0,\x81\n", "is neither UTF-8 nor Windows-1252"),
        ("trial,strength\n".encode("utf-16-le"), "is neither UTF-8 nor Windows-1252"),
        (b"\xff\xfet", "is neither UTF-8 nor Windows-1252"),
        (b"PK\x03\x04...", "the name of an Excel file must end in .xlsx"),
        (b"\xd0\xcf\x11\xe0...", "the name of an Excel file must end in .xlsx"),
        (b"\n \n", "is empty"),
        (b"", "is empty"),
    ],
)
def test_files_that_are_no_tables(lab, content, says):
    Path("told.csv").write_bytes(content)
    assert says in typed("tell", "lab.toml", "--csv", "told.csv", code=2).stderr


# --- quotes and lines ---

PIPES = """
[study]
method = "sobol"
value = "adhesion"
[parameters.temperature]
low = 20.0
high = 80.0
unit = "°C"
[parameters.time]
low = 1.0
high = 60.0
"""
TITLES = "temperature,time,adhesion,remark\n"


def imported(folder, text, *words, code=0, name="old.csv", study=PIPES):
    """What a command says about a table of experiments from before."""
    (folder / "pipes.toml").write_text(study, encoding="utf-8")
    if text is not None:
        (folder / name).write_text(text, encoding="utf-8")
    return typed("import", "pipes.toml", name, *words, code=code)


def pipes():
    return [
        (*(t.params[n] for n in ("temperature", "time")), t.value) for t in trials("pipes.toml")
    ]


@pytest.mark.parametrize(
    ("rows", "line", "end"),
    [
        ('20,5,1.5,"2 inch\n30,6,1.6,ok\n40,7,1.7,ok\n', 2, 4),  # until the file ends
        ('20,5,1.5,ok\n30,6,1.6,"cut off', 3, 3),
        ('20,5,1.5,"2 inch\n30,6,1.6,"3 inch"\n40,7,1.7,ok\n', 2, 3),  # until the next quote
        ('20,5,1.5,"2 inch\n30,6,1.6,3 inch"\n40,7,1.7,ok\n', 2, 3),  # which ends a line
        ('20,5,1.5,"2 inch\n30,6,1.6,ok\n40,7,1.7,"\n', 2, 4),
        ('20,5,1.5,"2 inch\n30,6,1.6,""\n40,7,1.7,"ok"\n', 2, 4),
        ('20,5,1.5,"2 inch\n30,6,1.6",\n', 2, 3),  # a cell more, which is empty
        ('"20,5,1.5,2 inch\n30",6,1.6,ok\n', 2, 3),  # in the first column
        ('20,"5,1.5,2 inch\n30,6",1.6,ok\n', 2, 3),
        ('20,5,"2 inch\n30,6",1.6,ok\n', 2, 3),  # of other width than the table
    ],
)
def test_a_quote_that_is_not_closed_is_refused_with_its_line(folder, rows, line, end):
    said = imported(folder, TITLES + rows, code=2).stderr
    assert f"old.csv:{line}: a cell begins with a quote that is not closed in this line" in said
    assert f"up to line {end};" in said
    assert not pipes()


def test_quotes_that_are_none_and_cells_of_several_lines_are_read(folder):
    rows = (
        '20,5,1.5,2" pipe\n30,6,1.6,"slow,\nand hot"\n40,7,1.7,"2"" pipe"\n'
        '50,8,1.8,"one\r\n\r\ntwo, 3"\n"60\n",9,1.9,ok\n'
    )
    imported(folder, TITLES + rows)
    assert pipes() == [(20 + 10 * i, 5 + i, (15 + i) / 10) for i in range(5)]
    wrong = imported(folder, f"{TITLES}20,5,1.5,ok\n30,x,1.5,ok\n", code=2, name="more.csv").stderr
    assert "more.csv:3: 'time' must be" in wrong
    lines = f'{TITLES}20,5,1.5,"one\ntwo"\n30,x,1.5,ok\n'
    assert "more.csv:4: 'time' must be" in imported(folder, lines, code=2, name="more.csv").stderr
    said = imported(folder, f'{TITLES}20,5,1.5,"2" pipe"\n', code=2, name="more.csv").stderr
    assert "more.csv:2: something stands behind the quote that ends a cell; write a quote" in said


def test_a_comment_of_several_lines_is_kept_as_it_is(folder):
    text = 'comment,temperature,time,adhesion\n"hot, 5 min\nslow; 3",20,5,1.5\n'
    imported(folder, text)
    assert trials("pipes.toml")[0].user_attrs[COMMENT] == "hot, 5 min\nslow; 3"


# --- tables of all kinds, whole or damaged ---

CELLS = [
    "",
    "ok",
    "slow, hot",
    '2" pipe',
    '"so"',
    "two\nlines",
    "a; b\nc, 5\n\nd",
    "mean",
    "'",
    "é µ",
]
ABOVE = [["Report"], ["Operator", "Ada"], ["Sample", "12"], [], ["2024"], ["a\nb", "c"], ["time"]]
BELOW = [["mean", "3.2"], ["", "", "", "3.2"], ["n = 3"], ["", "", "", "", "", "signed"]]
UNITS = {"temperature": "°C", "time": "min"}


@pytest.fixture(scope="module")
def history_of(tmp_path_factory):
    """Read experiments from before for a study that has none: them and notes, or a refusal."""
    path = tmp_path_factory.mktemp("pipes") / "pipes.toml"
    path.write_text(
        PIPES + '[parameters.resin]\nchoices = ["A", "B, x", "1,5"]\n', encoding="utf-8"
    )
    typed("ask", path)
    ledger = open_ledger(read_study(path), reading=True)

    def read(table):
        try:
            found = read_history(ledger, table)
        except ValueError as error:
            return None, str(error)
        return [({**each.trial.params}, each.trial.value) for each in found.new], found.notes

    return read


def decimal(value, commas):
    return str(value).replace(".", ",") if commas else str(value)


def table_of(chance):
    """The lines of a random table, the experiments in it, and whether something is wrong."""
    commas, number = chance.random() < 0.5, chance.randint(0, 6)
    names = ["temperature", "time", "adhesion", "resin", *chance.sample(["who", "comment", "n"], 2)]
    chance.shuffle(names)
    lines, expected, wrong = [], [], False
    for _ in range(number):
        params = {
            "temperature": round(chance.uniform(20, 80), chance.randint(0, 3)),
            "time": float(chance.randint(1, 60)),
            "resin": chance.choice(["A", "B, x", "1,5"]),
        }
        value = round(chance.uniform(-5, 2000), chance.randint(0, 4))
        expected.append((params, value))
        texts = {name: decimal(each, commas) for name, each in params.items()}
        texts |= {"resin": params["resin"], "adhesion": decimal(value, commas)}
        texts |= {"who": chance.choice(CELLS), "comment": chance.choice(CELLS), "n": "2"}
        lines.append([texts[name] for name in names] + [""] * (chance.random() < 0.1))
    top = [chance.choice(ABOVE) for _ in range(chance.choice([0, 0, 1, 3]))]
    if chance.random() < 0.15:
        lines, wrong = [[UNITS.get(name, "") for name in names], *lines], True
    if lines and chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines)), names)
        wrong = True
    if chance.random() < 0.15:
        lines, wrong = [*lines, chance.choice(BELOW)], True
    for _ in range(chance.choice([0, 0, 2])):
        lines.insert(chance.randint(0, len(lines)), [])
    return [*top, names, *lines], expected, wrong


@given(seed=st.integers(0, 2**32))
@examples(120)
def test_a_csv_file_is_read_exactly_or_refused_with_its_line(history_of, tmp_path_factory, seed):
    chance = random.Random(seed)
    lines, expected, wrong = table_of(chance)
    text = io.StringIO()
    quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    end = chance.choice(["\n", "\r\n"])
    csv.writer(
        text, delimiter=chance.choice(",;\t"), quoting=quoting, lineterminator=end
    ).writerows(lines)
    written = text.getvalue()
    if chance.random() < 0.4:  # a quote too many, or one that is missing
        wrong, at = True, chance.randrange(len(written))
        quotes = [i for i, letter in enumerate(written) if letter == '"']
        if quotes and chance.random() < 0.5:
            at = chance.choice(quotes)
            written = written[:at] + written[at + 1 :]
        else:
            written = f'{written[:at]}"{written[at:]}'
    path = tmp_path_factory.mktemp("table") / "old.csv"
    encoding = chance.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    path.write_bytes(written.encode(encoding))
    found, said = history_of(path)
    assert found in (None, expected), written
    if found is None:
        nothing = not expected and "no row stands below" in said
        assert wrong or nothing or "may be" in said, (
            written,
            said,
        )  # 1,234 alone may be a thousand
        assert re.search(r"old\.csv:\d+|old\.csv(: '| has a column)", said), (written, said)


@given(seed=st.integers(0, 2**32))
@examples(20)
def test_an_excel_file_is_read_exactly_or_refused_with_its_row(history_of, tmp_path_factory, seed):
    chance = random.Random(seed)
    lines, expected, wrong = table_of(chance)
    book = openpyxl.Workbook()
    hidden = 0
    for number, line in enumerate(lines, start=1 + chance.choice([0, 2])):
        for column, text in enumerate(line, start=1 + (seed % 2)):
            value = float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
            cell = book.active.cell(number, column, value)
            if isinstance(value, str):
                cell.data_type = "s"
        if chance.random() < 0.2 and any(line) and len(line) > 4:
            book.active.row_dimensions[number].hidden = True
            hidden += 1
    path = tmp_path_factory.mktemp("table") / "old.xlsx"
    book.save(path)
    found, said = history_of(path)
    assert found in (None, expected), lines
    if found is None:
        nothing = not expected and "no row stands below" in said
        assert wrong or nothing or "may be" in said, (lines, said)
        assert "old.xlsx:Sheet!" in said, (lines, said)
    else:
        assert any("hidden rows" in note for note in said) == (hidden > 0)


# --- titles above the table ---

REPORT = "Report of Friday\nOperator;Ada\nSample;12\n\n"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("above", ["Report of Friday\n", REPORT, "\n\n1,2,3 go\n", '"a\nb"\n'])
def test_titles_above_the_table_are_left_out_and_said(folder, separator, above):
    header = separator.join(["Time", "Temperature [°C]", "adhesion"])
    rows = [separator.join(row) for row in (["5", "20", "1.5"], ["6", "x", "1.6"])]
    text = "\n".join([header, rows[0]])
    said = imported(folder, f"{above}{text}\n").stderr
    line = above.count("\n") + 1
    assert f"old.csv:{line} is taken for the line that names the columns" in said
    assert pipes() == [(20, 5, 1.5)]
    wrong = imported(folder, f"{above}{text}\n{rows[1]}\n", code=2, name="more.csv").stderr
    assert f"more.csv:{line + 2}: 'temperature' must be" in wrong


def test_titles_in_excel_files_and_of_results(lab):
    top = [["Report of Friday"], [], [None, "Operator", "Ada"]]
    sheet([*top, HEAD, [0, 0.5, 1, 2], [1, "much", 1, 2]])
    refused = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx:Sheet!6: the value of trial 1 must be a finite number" in refused
    sheet([*top, HEAD, [0, 0.5, 1, 2]])
    said = typed("tell", "lab.toml", "--table", "told.xlsx")
    assert "told.xlsx:Sheet!4 is taken for the line that names the columns" in said.stderr
    assert said.stdout.startswith("stored")
    assert "names the columns" not in tell("trial,strength,stress,wind\n1,1,2,3\n").stderr


@pytest.mark.parametrize(
    ("above", "says"),
    [
        ("20,5,1.5,ok\n", "old.csv:1 looks like a row, but stands above line 2"),
        ("temperature,time,result\n20,5,ok\n", "old.csv:1 names columns, and so does line 3"),
        ("a,b,c,d\n" * 60, "old.csv:1 has no column 'temperature' or 'time', but 'a', 'b', 'c'"),
    ],
)
def test_what_is_no_title_is_not_left_out(folder, above, says):
    assert says in imported(folder, f"{above}{TITLES}30,6,1.6,ok\n", code=2).stderr
    assert not pipes()


def test_a_header_that_is_repeated_is_refused_with_its_line(folder):
    said = imported(folder, f"{TITLES}20,5,1.5,ok\n{TITLES}30,6,1.6,ok\n", code=2).stderr
    assert "old.csv:3: 'temperature' must be a finite number such as 0.82, got 'temp" in said


def test_a_table_without_columns_that_are_known_is_refused(folder):
    refused = imported(folder, "Datum;Wert\n1.2.2024;1,5\n", code=2).stderr
    assert "old.csv:1 has no column 'temperature' or 'time', but 'Datum', 'Wert'; known" in refused
    assert "'adhesion', " in refused
    assert '--map "Datum=temperature"' in refused


# --- other names of columns ---


def test_columns_are_renamed_for_one_file(folder):
    text = "Dauer;T [°C];Haftung\n5;20;1,5\n"
    names = ("--map", "Dauer=time", "--map", "T=Temperature", "--map", "haftung=value")
    imported(folder, text, *names)
    assert pipes() == [(20, 5, 1.5)]
    wrong = imported(folder, text.replace("°C", "K"), *names, code=2).stderr
    assert "'T [K]' is in 'K', but the unit of 'temperature' is '°C'" in wrong


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["T=temprature"], "there is no column 'temprature' (did you mean 'temperature'?), only"),
        (["T=time", "Dauer=time"], "'T' and 'Dauer' are both said to be 'time'; name one of them"),
        (["X=time"], "old.csv: there is no column 'X', only 'Dauer', 'T', 'Haftung'"),
        (
            ["adhesion=time"],
            "but is itself the name of 'adhesion'; known are 'temperature', 'time'",
        ),
        (["value=time"], "but is itself the name of 'adhesion'"),
        (["T=time", "T=temperature"], "--map has 'T' twice; give it once"),
        (["time"], "--map takes NAME=VALUE, got 'time'"),
        (["=time"], "but is empty"),
    ],
)
def test_other_names_that_are_not_clear_are_refused(folder, names, says):
    words = [word for name in names for word in ("--map", name)]
    refused = imported(folder, "Dauer,T,Haftung\n5,20,1.5\n", *words, code=2).stderr
    assert says in refused
    assert not pipes()


def test_a_column_and_one_that_is_renamed_to_it_are_not_both_taken(folder):
    text = "temperature,time,adhesion,Haftung\n20,5,1.5,1.6\n"
    refused = imported(folder, text, "--map", "Haftung=adhesion", code=2).stderr
    assert "the columns 'adhesion' and 'Haftung' are both taken for 'adhesion'" in refused


def test_other_names_stand_in_the_study_file(folder):
    study = PIPES + '[columns]\n"Haftung" = "adhesion"\n"Adhäsion" = "value"\nDauer = "time"\n'
    imported(folder, "temperature,time,Haftung [N]\n20,5,1.5\n", study=study)
    imported(folder, "temperature,Dauer,ADHÄSION\n30,6,1.6\n", study=study)
    imported(
        folder,
        "temperature,Dauer,Haftung\n40,1.7,7\n",
        "--map",
        "Dauer=adhesion",
        "--map",
        "Haftung=time",
        study=study,
    )  # what is said of one file goes first
    assert pipes() == [(20, 5, 1.5), (30, 6, 1.6), (40, 7, 1.7)]
    both = imported(folder, "temperature,time,Haftung,Adhäsion\n50,8,1,2\n", code=2, study=study)
    assert "'Haftung' and 'Adhäsion' are both taken for 'adhesion'" in both.stderr
    typed("ask", "pipes.toml")
    Path("told.csv").write_text("trial,Haftung\n3,0.5\n")
    assert "stored" in typed("tell", "pipes.toml", "--table", "told.csv").stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            'Dauer = "tme"',
            "columns.Dauer cannot be used: 'Dauer' is said to be 'tme', but there is",
        ),
        ('time = "temperature"', "columns.time cannot be used: 'time' is said to be 'temperature'"),
        ('"Time [s]" = "temperature"', "but is itself the name of 'time'"),
        ("Dauer = 3", "columns.Dauer must be a text"),
    ],
)
def test_other_names_in_the_study_file_are_checked(folder, line, says):
    said = imported(folder, TITLES, code=2, study=f"{PIPES}[columns]\n{line}\n").stderr
    assert f"pipes.toml:{PIPES.count(chr(10)) + 2}: " in said
    assert says in said


def test_renaming_goes_with_a_table(lab):
    assert (
        "--map goes with --table" in typed("tell", "lab.toml", 0, 1, "--map", "a=b", code=2).stderr
    )
    said = tell("trial;Festigkeit;stress;wind\n0;1,5;2;3\n", code=2).stderr
    assert "has no column 'strength'" not in said  # stress is one, too
    Path("told.csv").write_text("Versuch;Festigkeit;stress;wind\n0;1,5;2;3\n")
    words = ("--map", "Festigkeit=strength", "--map", "Versuch=trial")
    assert "stored" in typed("tell", "lab.toml", "--table", "told.csv", *words).stdout
    assert trials()[0].value == 1.5


# --- files without end, and large ones ---


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the devices of Unix")
def test_devices_and_pipes_are_no_tables(lab):
    os.mkfifo("pipe.csv")
    law = "[parameters.a]\nlow = 0\nhigh = 1\nnoise = {{ law = 'empirical', csv = '{}' }}\n"
    for name in ("/dev/zero", "pipe.csv"):
        says = f"{name} is no regular file, but a device or a pipe; save it as a file"
        assert says in typed("tell", "lab.toml", "--table", name, code=2).stderr
        assert says in typed("import", "lab.toml", name, code=2).stderr
        assert says in typed("noise", name, code=2).stderr
        Path("law.toml").write_text(law.format(name))
        assert says.split(" is ")[1] in typed("ask", "law.toml", code=2).stderr
        assert "is no regular file" in typed("ask", name, code=2).stderr


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_what_is_read_is_limited_whatever_the_system_says_about_its_size(monkeypatch):
    path = Path("/proc/self/maps")
    assert path.stat().st_size == 0
    assert encodings.read_content(path)
    monkeypatch.setattr(encodings, "LARGEST", 100)
    with pytest.raises(ValueError, match="maps is larger than 0 MiB, the most that is read"):
        encodings.read_content(path)


def test_a_table_is_read_in_a_small_multiple_of_its_size(folder):
    row = "20.5,5,1.25,a remark that nobody reads\n"
    (folder / "pipes.toml").write_text(PIPES, encoding="utf-8")
    path = folder / "old.csv"
    path.write_text(TITLES + row * 5_000)
    file = read_study("pipes.toml")
    columns = study_columns(file, file.ranges())
    tracemalloc.start()
    table = read_table(path, columns)
    assert sum(each.cells["adhesion"] == "1.25" for each in table.rows) == 5_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * path.stat().st_size  # the bytes, the text, and what is at hand
    for read in (lambda: read_deviations(path), lambda: read_columns(path, ["adhesion"], 1)):
        tracemalloc.start()
        read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * path.stat().st_size


def test_very_many_rows_are_refused_with_their_number(folder, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 2)
    said = imported(folder, TITLES + "20,5,1.5,ok\n" * 3, code=2).stderr
    assert "old.csv has 3 rows, but a study takes 2 at most" in said
    monkeypatch.setattr(csv_file, "MOST", 3)
    said = imported(folder, TITLES + "20,5,1.5,ok\n" * 3, code=2).stderr
    assert "old.csv has more than 3 lines, the most that are read" in said
    said = imported(folder, "\n" * 4, code=2).stderr
    assert "old.csv has more than 3 lines" in said
    said = imported(folder, f"{TITLES}20,5,1.5{',' * 2**20}", code=2).stderr
    assert "old.csv:2: the line has 1048584 letters, but at most 1048576 are read" in said
    said = imported(folder, f"{TITLES}20,5,1.5,{'x' * 200_000}", code=2).stderr
    assert "old.csv:2: field larger than field limit (131072)" in said
    said = imported(folder, f"{TITLES}20,5,1.5,{',' * 2**15}", code=2).stderr
    assert "old.csv:2: there are 32772 cells, but a table has 16384 columns at most" in said


def test_a_refusal_of_a_row_has_its_line_whatever_it_refuses(folder):
    said = imported(folder, "temperature,time,adhesion,n\n20,5,1.5,3\n30,6,1.5,2.5\n", code=2)
    assert "old.csv:3: n must be a whole number, got 2.5" in said.stderr
    typed("ask", "pipes.toml")
    Path("told.csv").write_text("trial,adhesion,n\n0,1.5,2.5\n")
    refused = typed("tell", "pipes.toml", "--table", "told.csv", code=2).stderr
    assert "told.csv:2: n must be a whole number, got 2.5" in refused


# --- Excel files ---

HEAD = ["trial", "strength [MPa]", "stress", "wind"]


def cached(path, cell, content):
    """Give a cell of a file other XML, as spreadsheet programs write it."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    begin = parts[name].index(f'<c r="{cell}"')
    end = parts[name].index("</c>", begin) + len("</c>")
    parts[name] = parts[name][:begin] + content + parts[name][end:]
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def test_formulas_have_the_values_that_are_stored(lab):
    sheet([HEAD, [0, "=1/3", 200, 4], [1, '=IF(A1="","","")', None, None]])
    told = ["tell", "lab.toml", "--table", "told.xlsx"]
    refused = typed(*told, code=2).stderr
    assert "told.xlsx:Sheet!B2 has a formula without its result; open the file in a" in refused
    for formula in ('<f t="shared" si="0"/>', "<f>1/3</f><v></v>", '<f t="array" ref="B2">1</f>'):
        cached("told.xlsx", "B2", f'<c r="B2">{formula}</c>')
        assert "Sheet!B2 has a formula without" in typed(*told, code=2).stderr
    cached("told.xlsx", "B2", '<c r="B2"><f>1/3</f><v>0.33333333333333331</v></c>')
    cached("told.xlsx", "B3", '<c r="B3" t="str"><f>IF(A1="","","")</f><v></v></c>')
    assert typed(*told).stdout.startswith("stored")
    assert trials()[0].value == 1 / 3
    cached("told.xlsx", "B2", '<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>')
    assert "told.xlsx:Sheet!B2 has the error #DIV/0!" in typed(*told, code=2).stderr


def test_what_is_wrong_in_columns_that_are_left_out_does_not_matter(lab):
    sheet([[*HEAD, "mean"], [0, 0.5, 200, 4, "=1/0"]])
    assert "stored" in typed("tell", "lab.toml", "--table", "told.xlsx").output


def test_other_cells(lab):
    day = datetime.datetime(2024, 5, 3)
    sheet([[*HEAD, "stirred", "failed"], [0, None, None, None, True, day], [1, day, 1, 2]])
    refused = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx:Sheet!3: the value of trial 1 must be a finite number" in refused
    assert "'2024-05-03'" in refused
    sheet(
        [[*HEAD, "stirred", "failed"], [0.0, None, "failed", None, True, day], ["1", "0,5", 1, 2]]
    )
    said = typed("tell", "lab.toml", "--table", "told.xlsx")
    assert "2 stored" in said.output
    assert "decimal commas" in said.stderr
    assert trials()[0].user_attrs[ERROR] == "2024-05-03"
    assert trials()[1].value == 0.5


def test_a_percentage_may_be_a_share_or_a_hundred_times_that(lab):
    sheet([HEAD, [0, 0.82, 1, 2]])
    book = openpyxl.load_workbook("told.xlsx")
    book.active["B2"].number_format = "0.0%"
    book.save("told.xlsx")
    refused = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx:Sheet!B2 is formatted as a percentage, and may be 0.82 or 82" in refused


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, parts, level=1):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


SHEET = "xl/worksheets/sheet1.xml"
SMALL, HUGE = (struct.pack("<I", size) for size in (1000, 2**31))


def with_rows(rows):
    """A file with an Excel file of ours, and further rows as XML."""
    sheet([HEAD, [0, 0.5, 1, 2]])
    parts = unpacked("told.xlsx")
    parts[SHEET] = parts[SHEET].replace(b"</sheetData>", rows + b"</sheetData>")
    packed("told.xlsx", parts)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (b" " * (65 * 2**20), "it has more than 64 MiB when it is unpacked, the most that is read"),
        (b'<row r="9999999999"/>', "there is a row 9999999999, but a sheet has 1048576 at most"),
        (b'<row r="9"/><row r="8"/>', "row 8 stands below row 9; open the file in a spreadsheet"),
        (b'<row r="9"/><row r="9"/>', "row 9 stands below row 9"),
        (b'<row r="9"><c r="B9"/><c r="A9"/></row>', "the cells of row 9 are not in order"),
        (b'<row r="9"><c r="XFE9"/></row>', "the cells of row 9 are not in order"),
        (
            b"".join(b'<row r="%d"><c r="XFD%d"/></row>' % (i, i) for i in range(5, 1100)),
            "the sheet spans more than 16777216 cells",
        ),
        (b"<row", "told.xlsx cannot be read as an Excel file"),
    ],
)
def test_excel_files_that_are_too_large_or_not_in_order_are_refused(lab, rows, says):
    """openpyxl would drop rows and cells that are not in order without a word."""
    with_rows(rows)
    assert says in typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert not any(trial.state.is_finished() for trial in trials())


def test_a_size_that_is_a_lie_is_no_way_around_the_limit(lab):
    with_rows(b" " * (2 * 2**20))
    size = len(unpacked("told.xlsx")[SHEET])
    content = Path("told.xlsx").read_bytes()
    small, large = (content.replace(struct.pack("<I", size), lie) for lie in (SMALL, HUGE))
    Path("told.xlsx").write_bytes(small)
    refused = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx is no Excel file, is damaged, or is protected" in refused
    Path("told.xlsx").write_bytes(large)
    assert "stored" in typed("tell", "lab.toml", "--table", "told.xlsx").stdout  # what is there


def test_other_sheets_are_not_unpacked(lab, monkeypatch):
    sheet([HEAD, [0, 0.5, 1, 2]], Large=[["x" * 20] * 500] * 100)
    monkeypatch.setattr(workbook, "LARGEST", 50_000)
    assert "stored" in typed("tell", "lab.toml", "--table", "told.xlsx").stdout
    words = ("told.xlsx", "--sheet", "Large")
    assert "more than 0 MiB" in typed("import", "lab.toml", *words, code=2).stderr


def test_one_part_for_two_sheets_is_refused(lab):
    sheet([HEAD, [0, 0.5, 1, 2]], Other=[["x"]])
    parts = unpacked("told.xlsx")
    name = "xl/_rels/workbook.xml.rels"
    parts[name] = parts[name].replace(b"sheet2.xml", b"sheet1.xml")
    packed("told.xlsx", parts)
    refused = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "two of its sheets are the same" in refused


def test_what_a_sheet_hides_is_said_and_read(lab):
    rows = [["Report", None, None, None, "who"], HEAD]
    rows += [[i, 0.5 + i, 1, 2, "Ada"] for i in range(COUNT)]
    sheet(rows)
    assert "hidden" not in typed("tell", "lab.toml", "--table", "told.xlsx").stderr
    book = openpyxl.load_workbook("told.xlsx")
    for number in (1, 3, 5, 6, 100):
        book.active.row_dimensions[number].hidden = True
    book.active.column_dimensions["C"].hidden = True
    book.active.column_dimensions.group("E", "Z", hidden=True)
    for cells in ("A1:D1", "C4:C5"):
        book.active.merge_cells(cells)
    book.active["C4"] = 1
    book.active.auto_filter.ref = "A2:E7"
    book.active.auto_filter.add_filter_column(4, ["Ada"])
    book.active.sheet_state = "hidden"
    book.create_sheet("Seen")
    book.save("told.xlsx")
    said = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    # an empty cell of an outcome that has a constraint is refused, with what makes it empty
    assert "told.xlsx:Sheet!5: trial 2 has no 'stress'" in said
    book["Sheet"].unmerge_cells("C4:C5")
    book["Sheet"].merge_cells("E4:F5")
    book["Sheet"]["C5"] = 1
    book.save("told.xlsx")
    said = typed("tell", "lab.toml", "--table", "told.xlsx").stderr
    assert "5 rows had been told before" in said
    assert "told.xlsx:Sheet: hidden rows are read, too: 3, 5 to 6 (a filter is set)" in said
    assert "told.xlsx:Sheet: hidden columns are read, too: C, E" in said
    assert (
        "of merged cells the first one has the value, and the others are read as empty: E4:F5"
        in said
    )
    assert "A1:D1" not in said
    assert "told.xlsx: the sheet 'Sheet' is hidden, and read" in said


def test_an_excel_file_whose_parts_have_other_places_is_read(lab):
    """As some programs write them: absolute names of parts, and no names of cells."""
    sheet([HEAD, [0, 0.5, 1, 2]])
    parts = unpacked("told.xlsx")
    name = "xl/_rels/workbook.xml.rels"
    parts[name] = parts[name].replace(b'"worksheets/', b'"/xl/worksheets/')
    parts[SHEET] = re.sub(rb'(<c) r="[A-Z]+\d+"', rb"\1", parts[SHEET])
    packed("told.xlsx", parts)
    assert "stored" in typed("tell", "lab.toml", "--table", "told.xlsx").stdout
    assert trials()[0].value == 0.5


def shared(path, before=b""):
    """Put the texts of a file where Excel has them: into a part of their own."""
    parts = unpacked(path)
    kind = b"officedocument.spreadsheetml.sharedStrings+xml"
    part = (
        b'<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-'
    )
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(
        b"</Types>", part + kind + b'"/></Types>'
    )
    inline = re.compile(rb't="inlineStr"><is>(.*?)</is>')
    texts = inline.findall(parts[SHEET])
    number = itertools.count()
    parts[SHEET] = inline.sub(lambda _: b't="s"><v>%d</v>' % next(number), parts[SHEET])
    items = b"".join(b"<si>%s</si>" % text for text in texts)
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts["xl/sharedStrings.xml"] = before + b'<sst xmlns="%s">%s</sst>' % (space, items)
    packed(path, parts)


def test_texts_that_cells_share_are_read(lab):
    sheet([HEAD, [0, "0,5", 1, 2], [1, "failed", "failed", None]])
    shared("told.xlsx")
    assert "2 stored" in typed("tell", "lab.toml", "--table", "told.xlsx").stdout
    assert [trial.value for trial in trials()[:2]] == [0.5, None]


def test_texts_that_grow_without_end_are_refused(lab):
    """Entities of entities of entities: a gigabyte, from some hundred letters."""
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "{"a" * 10}">{entities}]>'.encode()
    sheet([HEAD, [0, "0,5", 1, "&"]])
    parts = unpacked("told.xlsx")
    parts[SHEET] = bomb + parts[SHEET].replace(b"&amp;", b"&a8;")
    packed("told.xlsx", parts)
    assert "cannot be read" in typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    sheet([HEAD, [0, "0,5", 1, "&"]])
    shared("told.xlsx", bomb)
    parts = unpacked("told.xlsx")
    name = "xl/sharedStrings.xml"
    parts[name] = parts[name].replace(b"&amp;", b"&a8;")
    packed("told.xlsx", parts)
    assert "cannot be read" in typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr


def test_an_interrupted_question_leaves_no_file(lab, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(by_hand, "ask", interrupted)
    typed("ask", "lab.toml", "--xlsx", "next.xlsx", code=130)
    assert not Path("next.xlsx").exists()


def test_rows_of_a_file_with_all_of_it(lab):
    """Failed rows, executed values, remarks, rounding and decimal commas, told twice."""
    typed("tell", "lab.toml", 4, "--failed", "cracked")
    text = (
        "remarks;TRIAL;catalyst / g/l;Stirred;wind [m/s];value [MPa];stress;FAILED;state\n"
        "a;0;0,0123456;WAHR;;;;;asked\n"
        "b;1;0,0123456;TRUE;4,5;-1,25;2;;asked\n"
        "c;2;;;4,5;failed;2,5;;asked\n"
        "d;3;;;;;;gerissen, Kälte;asked\n"
        "e;4;;;;;;cracked;failed\n"
    )
    said = tell(text, encoding="cp1252")
    assert "3 stored" in said.output
    assert "1 row had been told before" in said.stderr
    assert "left out: 'remarks', 'state'" in said.stderr
    told = trials()
    assert [t.value for t in told] == [None, -1.25, None, None, None]
    assert told[1].user_attrs[EXECUTED]["catalyst"] == 0.0123456
    assert told[2].user_attrs[OUTCOMES] == {"stress": 2.5}
    assert told[3].user_attrs[ERROR] == "gerissen, Kälte"
    again = tell(text, encoding="cp1252")
    assert "4 rows had been told before" in again.stderr


def test_sheets_by_name(lab):
    sheet([], Results=[HEAD, [0, 0.5, 1, 2]])
    told = ["tell", "lab.toml", "--table", "told.xlsx"]
    assert "told.xlsx is empty" in typed(*told, code=2).stderr
    refused = typed(*told, "--sheet", "results", code=2).stderr
    assert "there is no sheet 'results' (did you mean 'Results'?)" in refused
    assert "stored" in typed(*told, "--sheet", "Results").output
    said = typed("import", "lab.toml", "told.xlsx", "--sheet", "Results", code=2).stderr
    assert "told.xlsx:Results!2: there is no 'temperature'" in said
    sheet([HEAD, [1, 0.5, 1, 2]], Notes=[["x"]])
    assert "of 2 sheets the first is read, 'Sheet'" in typed(*told).stderr
    Path("told.csv").write_text("trial\n")
    told[-1] = "told.csv"
    assert "leave --sheet out" in typed(*told, "--sheet", "Results", code=2).stderr
    assert "--sheet goes with" in typed("tell", "lab.toml", 2, 1, "--sheet", "a", code=2).stderr


@pytest.mark.parametrize("kind", ["xls", "ods", "XLSB", "numbers"])
def test_other_tables_are_refused(lab, kind):
    refused = tell("trial,strength\n", code=2, name=f"told.{kind}").stderr
    assert "save it as .xlsx or CSV" in refused


@pytest.mark.parametrize("content", [b"", b"trial,strength", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_damaged_files_are_refused(lab, content):
    Path("told.xlsx").write_bytes(content)
    said = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx is no Excel file" in said
    with zipfile.ZipFile("told.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<a")
    said = typed("tell", "lab.toml", "--table", "told.xlsx", code=2).stderr
    assert "told.xlsx cannot be read as an Excel file" in said


def test_an_excel_file_is_not_overwritten_and_nothing_is_asked_for(lab):
    Path("next.xlsx").write_text("mine")
    for words in (["ask", "lab.toml"], ["status", "lab.toml"]):
        refused = typed(*words, "--xlsx", "next.xlsx", code=2).stderr
        assert "next.xlsx exists and is left as it is" in refused
        assert "must end in .xlsx" in typed(*words, "--xlsx", "next.xls", code=2).stderr
        assert "cannot be written" in typed(*words, "--xlsx", "no/next.xlsx", code=2).stderr
    assert Path("next.xlsx").read_text() == "mine"
    assert len(trials()) == COUNT
    typed("ask", "none.toml", "--xlsx", "new.xlsx", code=2)
    assert not Path("new.xlsx").exists()


def test_without_openpyxl_a_sentence_says_what_to_install(lab, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    Path("told.xlsx").touch()
    for words in (
        ["ask", "lab.toml", "--xlsx", "next.xlsx"],
        ["status", "lab.toml", "--xlsx", "all.xlsx"],
        ["tell", "lab.toml", "--table", "told.xlsx"],
        ["import", "lab.toml", "told.xlsx"],
    ):
        said = typed(*words, code=1).stderr
        assert "Excel files need openpyxl; install it with: pip install 'meseta[excel]'" in said
    assert len(trials()) == COUNT


def test_no_formula_gets_into_an_excel_file_and_texts_come_back(folder):
    harmful = ["=1+1", "+cmd", "-2+3", "@sum", "'=x", "#DIV/0!", "1,5", "007", "é\n="]
    text = '[study]\nmethod = "sobol"\n[parameters.x]\nlow = 0.0\nhigh = 1.0\n'
    text += f'[parameters."=n"]\nchoices = {json.dumps(harmful)}\n'
    for name in ("one.toml", "two.toml"):
        (folder / name).write_text(text, encoding="utf-8")
    rows = "".join(f'0.{i},"{each}",{i}.5\n' for i, each in enumerate(harmful))
    Path("old.csv").write_text(f"x,'=n,value\n{rows}".replace('"\'=x"', "''=x"), encoding="utf-8")
    typed("import", "one.toml", "old.csv")
    typed("ask", "one.toml")
    typed("tell", "one.toml", len(harmful), "--failed", "=\x1bevil()")
    typed("status", "one.toml", "--xlsx", "all.xlsx")
    book = openpyxl.load_workbook("all.xlsx")
    assert all(cell.data_type != "f" for row in book.active.iter_rows() for cell in row)
    assert f"{len(harmful) + 1} stored" in typed("import", "two.toml", "all.xlsx").output
    assert [trial.params for trial in trials("two.toml")] == [t.params for t in trials("one.toml")]
    assert trials("two.toml")[-1].user_attrs[ERROR] == "=\\u001bevil()"


def test_excel_files_are_read_without_torch_and_pandas(lab):
    sheet([HEAD, [0, 0.5, 200, 4]])
    code = (
        "import sys\nfrom meseta.cli import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'torch', 'pandas'} & set(sys.modules)\n"
    )
    for words in (["tell", "lab.toml", "--table", "told.xlsx"], ["status", "lab.toml"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


# --- rows that are there already ---


def rounded(value, digits=6):
    return f"{float(value):.{digits}g}" if "." in value else value


def test_what_a_spreadsheet_has_rounded_is_the_same(folder):
    """Trials with all digits, as workers make them."""
    text = '[study]\nmethod = "sobol"\n[parameters.x]\nlow = 0.0\nhigh = 2.0\n'
    text += "[parameters.y]\nlow = 1000000.0\nhigh = 1000001.0\n"
    (folder / "lab.toml").write_text(text)
    third, seventh = 1 / 3, 1 / 7
    rows = [f"{third},1000000.5,{seventh}", f"{third},1000000.5,{2 * seventh}"]
    rows += [f"{seventh},1000000.25,failed", f"{third},1000000.5,{seventh}"]
    Path("old.csv").write_text("\n".join(["x,y,value", *rows]))
    typed("import", "lab.toml", "old.csv")
    short = [",".join(rounded(c, 9) for c in row.split(",")) for row in rows]
    Path("short.csv").write_text("\n".join(["who,x,y,value", *(f"Al,{row}" for row in short)]))
    said = typed("import", "lab.toml", "short.csv")
    assert "0 stored" in said.output
    assert "4 rows had been there already" in said.stderr
    Path("more.csv").write_text("\n".join(["x,y,value", *short, short[0], "0.33,1000000.5,0.14"]))
    assert "2 stored" in typed("import", "lab.toml", "more.csv").output
    # the same to six digits, but not by rounding; and what rounding would move too far
    other = f"{third:.6f}1,1000000.5,{seventh}\n{third},1000000.0,{seventh}\n"
    Path("other.csv").write_text(f"x,y,value\n{other}")
    assert "2 stored" in typed("import", "lab.toml", "other.csv").output


@pytest.mark.parametrize(
    ("kept", "given", "same"),
    [
        (54.540812345, 54.5408, True),
        (54.540812345, 54.5408123, True),
        (54.540812345, 54.541, False),
        (54.540812345, 54.540811, False),
        (0.1 + 0.2, 0.3, True),
        (3, 3.0, True),
        (3, 3.0001, False),
        (True, "true", False),
        (None, 1.0, False),
        (1.0, None, False),
        (0.0, 1e-9, False),
        (-0.0, 0.0, True),
    ],
)
def test_rounded_by_a_spreadsheet_or_another_value(kept, given, same):
    assert is_same(kept, given) == same


def test_rounding_that_moves_a_value_across_its_range_makes_another():
    assert is_same(1000000.3, 1000000.0)
    assert not is_same(1000000.3, 1000000.0, Float(1e6, 1e6 + 1))
    assert is_same(0.0012345678, 0.00123457, Float(1e-5, 1.0, log=True))


def test_telling_again_what_a_spreadsheet_has_rounded(lab):
    typed("tell", "lab.toml", 0, "0.123456789", "stress=231.123456", "--set", "wind=4.123456789")
    typed("tell", "lab.toml", 1, "--failed", "cracked", "--set", "temperature=44.123456789")
    head = "trial;operator;temperature [°C];wind;strength;stress;failed\n"
    told = f"{head}0;Bob;;4,12346;0,123457;231,123;\n1;Al;44,1235;;;;cracked\n"
    said = tell(told)
    assert "0 stored" in said.output
    assert "2 rows had been told before" in said.stderr
    for other in (
        told.replace("0,123457", "0,123458"),
        told.replace("231,123", "231,124"),
        told.replace("4,12346", "4,12347"),
        told.replace("44,1235", "44,1236"),
        told.replace(";;;;cracked", ";1;2;3;"),
    ):
        assert "told.csv:" in tell(other, code=2).stderr


def test_a_pending_trial_is_not_a_failed_one(lab):
    typed("status", "lab.toml", "--xlsx", "all.xlsx")
    book = openpyxl.load_workbook("all.xlsx")
    for row in book.active.iter_rows(min_row=2):
        row[1].value = "failed"
    book.save("all.xlsx")
    assert f"{COUNT} stored" in typed("import", "lab.toml", "all.xlsx").output


# --- designs that can be written down ---


def written_down(folder, text, number=4):
    (folder / "s.toml").write_text(text, encoding="utf-8")
    shown = typed("ask", "s.toml", "-n", number).stdout
    kept = [trial.params for trial in trials("s.toml")]
    lines = [line.split()[1:] for line in shown.splitlines()[-number:]]
    assert [list(map(float, line)) for line in lines] == [list(p.values()) for p in kept]
    return kept


@pytest.mark.parametrize(
    ("low", "high", "more", "longest"),
    [
        ("0.0", "2.0", "", 6),
        ("-60.0", "60.0", "", 7),
        ("20.0", "80.0", "", 6),
        ("1e6", "1000010.0", "", 12),
        ("0.0", "1e9", "", 12),
        ("1e-9", "1e-1", "log = true", 10),
        ("0.12345678", "0.12345679", "", 15),
        ("0.0", "1.0", "step = 0.1", 3),
        ("0.0", "12.3456789", "step = 4.1152263", 10),
    ],
)
def test_what_is_stored_is_what_is_printed(folder, low, high, more, longest):
    text = '[study]\nmethod = "sobol"\n'
    kept = written_down(folder, f"{text}[parameters.x]\nlow = {low}\nhigh = {high}\n{more}\n")
    assert all(float(low) <= params["x"] <= float(high) for params in kept)
    assert all(len(repr(params["x"]).removesuffix(".0")) <= longest for params in kept)


@given(
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-6, 1e9),
    share=st.floats(0, 1),
    log=st.booleans(),
    evaluate=st.booleans(),
)
@examples(60)
def test_a_rounded_design_is_near_and_in_its_range(
    tmp_path_factory, low, width, share, log, evaluate
):
    low = abs(low) + 1e-6 if log else low
    wide = (low / 2 if log else low - width, low + 2 * width)
    try:
        parameter = Float(low, low + width, log=log, evaluate=wide if evaluate else None)
    except ValueError:
        return  # too narrow
    ((left, right),) = parameter.experiments.ends
    value = parameter.nearest(parameter.from_columns([left + share * (right - left)]))
    if evaluate:
        value = parameter.experiments.nearest(
            parameter.experiments.from_columns([left + share * (right - left)])
        )
    path = tmp_path_factory.getbasetemp() / "plain.toml"
    path.write_text("[parameters.x]\nlow = 0.0\nhigh = 1.0\n")
    found = readable(read_study(path), {"x": parameter}, {"x": value})["x"]
    ((one, two),), (a,), (b,) = parameter.ends, *map(parameter.to_columns, (value, found))
    assert abs(a - b) <= 1.001e-4 * (two - one)
    assert parameter.experiments.low <= found <= parameter.experiments.high
    if parameter.low <= value <= parameter.high:
        assert parameter.low <= found <= parameter.high
    assert readable(read_study(path), {"x": parameter}, {"x": found})["x"] == found


def test_rules_are_kept_with_few_digits(folder):
    text = '[study]\nallowed = ["a + b + c <= 1", "a >= 0.2"]\n'
    text += "".join(f"[parameters.{name}]\nlow = 0.0\nhigh = 1.0\n" for name in "abc")
    text += "[parameters.z]\nlow = 0\nhigh = 9\ntype = 'int'\n"
    (folder / "s.toml").write_text(text)
    file = read_study("s.toml")
    chance = random.Random(0)
    for _ in range(50):
        a, b = 0.2 + 0.4 * chance.random(), 0.3 * chance.random()
        params = {"a": a, "b": b, "c": 1 - a - b, "z": 3}
        found = readable(file, file.ranges(), params)
        assert sum(found[name] for name in "abc") <= 1 + 1e-9
        assert found["a"] >= 0.2
        assert found["z"] == 3
        assert all(abs(found[name] - params[name]) <= 1.001e-4 for name in "abc")
        assert all(len(repr(found[name])) <= 8 for name in "abc")
    contradiction = {"a": 1 / 3, "b": 1.0, "c": 1.0, "z": 3}  # asked for before the rule was there
    assert readable(file, file.ranges(), contradiction) == contradiction


def test_a_rule_that_needs_more_digits_gets_them(folder):
    text = '[study]\nallowed = ["a - b <= 0", "b - a <= 0.000001"]\n'
    text += "".join(f"[parameters.{name}]\nlow = 0.0\nhigh = 1.0\n" for name in "ab")
    (folder / "s.toml").write_text(text)
    file = read_study("s.toml")
    params = {"a": 0.12345, "b": 0.1234507}
    found = readable(file, file.ranges(), params)
    assert 0 <= found["b"] - found["a"] <= 1.1e-6


def test_designs_that_the_file_lists_are_asked_for_once_and_as_they_are(folder):
    text = '[study]\nmethod = "sobol"\ninitial = [{ x = 0.123456789 }, { x = 1 }]\n'
    kept = written_down(folder, f"{text}[parameters.x]\nlow = 0.0\nhigh = 2.0\n", 3)
    assert [params["x"] for params in kept[:2]] == [0.123456789, 1.0]
    again = json.loads(typed("ask", "s.toml", "--json").stdout)
    assert again[0]["params"]["x"] not in (0.123456789, 1.0)
