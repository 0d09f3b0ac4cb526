"""Study files: what they say, and the lines on which they are wrong."""

import pickle
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import meseta
from command_line import typed
from examples import examples
from meseta.gp.fit import KernelName, Prior
from meseta.optimizer.settings import Direction
from meseta.space.initial import Spread
from meseta.space.named_noise import read_noise
from meseta.study.toml.check import check
from meseta.study.toml.file import StudyError, read_study
from meseta.study.toml.keys import SPREADS, SettingsKeys
from meseta.study.toml.lines import find_lines, key, line_of, quoted, spelled
from meseta.study.toml.measurements import read_columns
from meseta.study.toml.short_noise import read_short
from meseta.study.toml.storage import storage_url
from meseta.study.toml.template import template

DOCS = Path(__file__).parents[2] / "docs" / "study-files.md"
X = "[parameters.x]\nlow = 0\nhigh = 1\n"


@pytest.fixture
def study_of(tmp_path):
    def read(text, name="press.toml"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_study(path)

    return read


@pytest.fixture
def refusal(study_of, tmp_path):
    """The mistakes of a file, without the folder it happens to be in."""

    def lines(text, whole=False):
        with pytest.raises(StudyError) as caught:
            check(study_of(text)) if whole else study_of(text)
        return str(caught.value).replace(f"{tmp_path}/", "").splitlines()

    return lines


# --- lines ---

SCANNED = """\
# [not.a.table]
version = 1
[study] # "
name = "a = [b] # c"
options.a.b = 3

[parameters."my \\"name"]
low = 1.5
choices = [  # ]
  "a", # , ]
  \"\"\"x = 1
[y]\"\"\",
  { q = 1, r.s = [1,
   2] },
]
'odd # one' = { law = "normal", std = 0.1 }

[[noise]]
a = 1
[[noise]]
of.law = 1
  [noise.sub]
  x = '''a = 1
'''''
  z = 2
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("version",), 2),
        (("study", "name"), 4),
        (("study", "options", "a", "b"), 5),
        (("parameters", 'my "name'), 7),
        (("parameters", 'my "name', "choices", 0), 10),
        (("parameters", 'my "name', "choices", 1), 11),
        (("parameters", 'my "name', "choices", 2, "r", "s", 1), 14),
        (("parameters", 'my "name', "odd # one", "std"), 16),
        (("noise", 0, "a"), 19),
        (("noise", 1), 20),
        (("noise", 1, "of", "law"), 21),
        (("noise", 1, "sub"), 22),
        (("noise", 1, "sub", "z"), 25),
        (("noise", 1, "sub", "unheard of"), 22),
        (("study", "unheard of"), 3),
        (("unheard of",), 1),
    ],
)
def test_a_key_is_found_on_its_line(place, line):
    tomllib.loads(SCANNED)
    assert line_of(find_lines(SCANNED), place) == line


def test_a_table_that_comes_after_its_own_subtable_has_its_own_line():
    text = "[a.b.c]\nx = 1\n[a.b]\ny = 1\n"
    lines = find_lines(text)
    assert (lines["a", "b", "c"], lines["a", "b"], lines[("a",)]) == (1, 3, 1)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
SCALARS = st.one_of(
    st.integers(-9, 9), st.booleans(), st.floats(-2, 2), st.sampled_from(["a", "] # =", '"', "'"])
)


@st.composite
def documents(draw):
    """Text, and where everything in it stands, written as people might write it."""
    rows, places = [], {}

    def newline():
        rows.append("")

    def write(text):
        rows[-1] += text

    def pause():
        for _ in range(draw(st.integers(0, 2))):
            write(draw(st.sampled_from(["", " ", "# = [x] \"'", "\t"])))
            newline()

    def value(place, content):
        if isinstance(content, list):
            write("[")
            for i, each in enumerate(content):
                pause()
                places[(*place, i)] = len(rows)
                value((*place, i), each)
                write(",")
            write("]")
        elif isinstance(content, dict):
            write("{ ")
            for i, (name, each) in enumerate(content.items()):
                write(", " if i else "")
                places[(*place, name)] = len(rows)
                write(f"{key(name)} = ")
                value((*place, name), each)
            write(" }")
        elif isinstance(content, bool):
            write(str(content).lower())
        elif isinstance(content, str):
            multi = '"' not in content and draw(st.booleans())
            write(f'"""\n{content}"""' if multi else quoted(content))
            rows[-1:] = rows[-1].split("\n")
        else:
            write(repr(content))

    leaf = st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
        max_leaves=6,
    )
    newline()
    for table, pairs in draw(
        st.dictionaries(NAMES, st.dictionaries(NAMES, leaf, max_size=3), max_size=3)
    ).items():
        many = draw(st.booleans())
        for number in range(draw(st.integers(1, 2)) if many else 1):
            pause()
            start = (table, number) if many else (table,)
            places.setdefault((table,), len(rows))
            places[start] = len(rows)
            write(f"[[ {key(table)} ]]" if many else f"[{key(table)}]")
            newline()
            for name, content in pairs.items():
                places[(*start, name)] = len(rows)
                write(f"{key(name)}= ")
                value((*start, name), content)
                newline()
                pause()
    return "\n".join(rows), places


@given(documents())
@examples(40)
def test_every_place_of_any_document_is_found(document):
    text, places = document
    tomllib.loads(text)
    assert find_lines(text) == places


@given(st.text("[]{}=.,#\"'\\\n a1", max_size=40))
@example('"""')
@example("[[")
@example("a = [,]")
@example("a = {]}")
def test_no_text_makes_the_scanner_stumble(text):
    assert all(1 <= line <= text.count("\n") + 1 for line in find_lines(text).values())


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_places_are_spelled_as_toml_reads_them(names):
    table = tomllib.loads(f"{spelled(tuple(names))} = 1")
    for name in names:
        table = table[name]
    assert table == 1


def test_deep_nesting_is_refused_and_found_as_far_as_possible(refusal):
    deep = "x = " + "[" * 5000 + "]" * 5000
    assert "nested too deeply" in refusal(deep)[0]
    assert find_lines(deep)[("x",)] == 1


# --- whole files ---


def test_the_least_file_has_the_defaults(study_of, tmp_path):
    study = study_of(X)
    assert (study.name, study.direction) == ("press", "maximize")
    assert study.budget is study.objective is None
    assert study.settings() == meseta.Settings()
    assert study.path == tmp_path / "press.toml"
    assert study.folder == tmp_path
    assert study.storage_url == f"sqlite:///{tmp_path}/press.db"
    assert study.space() == meseta.Optimizer({"x": (0.0, 1.0)}).space
    assert study.noise() is None
    assert study.edge() == {}
    check(study)
    assert pickle.loads(pickle.dumps(study)) == study


def test_a_file_with_everything(study_of):
    study = study_of("""
version = 1
[study]
name = "Press fit <b>"
direction = "minimize"
budget = 40
method = "nes-ep"
options = { num_max_values = 3 }
seed = 7
num_initial = 4
initial = "uniform"
kernel = "matern52"
prior = "paper"
noise_variance = 0.25
scatter_in_use = 0.3
storage = "sqlite:///elsewhere.db"
notes = "two machines"
[objective]
command = ["./simulate", "--angle={angle}", "{flow rate}{{x}}", "{n}", "{oil}"]
output = "json"
key = "force"
timeout = 2.5
directory = "sub"
[parameters.angle]
low = -10
high = 45.5
unit = "deg"
noise = "± 0.5 deg"
edge = "clip"
note = "of the nozzle"
[parameters."flow rate"]
low = 0.1
high = 10
log = true
noise = "5 %"
[parameters.n]
type = "int"
low = 1
high = 9
step = 2
[parameters.oil]
choices = ["a", "b", 3, true]
noise = "2 %"
""")
    assert (study.name, study.direction, study.budget) == ("Press fit <b>", "minimize", 40)
    assert study.notes == "two machines"
    assert study.objective.timeout == 2.5
    assert study.objective.directory == "sub"
    assert study.parameters["angle"].unit == "deg"
    assert study.space().parameters == (
        meseta.Float(-10, 45.5),
        meseta.Float(0.1, 10, log=True),
        meseta.Int(1, 9, step=2),
        meseta.Categorical(["a", "b", 3, True]),
    )
    assert study.noise() == {
        "angle": meseta.Uniform(0.5),
        "flow rate": meseta.Normal(0.05, relative=True),
        "oil": meseta.Substitution(0.02),
    }
    assert study.edge() == {"angle": "clip"}
    check(study)
    assert study.settings() == meseta.Settings(
        noise=study.noise(),
        edge=study.edge(),
        direction="minimize",
        method="nes-ep",
        options={"num_max_values": 3},
        kernel="matern52",
        prior="paper",
        noise_variance=0.25,
        scatter_in_use=0.3,
        seed=7,
        num_initial=4,
        initial="uniform",
    )
    optimizer = meseta.Optimizer(study.space(), settings=study.settings())
    assert set(optimizer.ask()) == set(study.parameters)


def test_the_words_of_settings_are_those_of_the_library():
    """Spelled out in the tables, which do not load torch."""
    for name, known in (
        ("direction", Direction),
        ("kernel", KernelName),
        ("prior", Prior),
    ):
        written = get_type_hints(SettingsKeys)[name]
        words = [word for each in get_args(written) for word in (get_args(each) or (each,))]
        assert tuple(word for word in words if isinstance(word, str)) == get_args(known)
    assert get_args(Spread) == SPREADS
    names = {field.name for field in fields(meseta.Settings)}
    elsewhere = {"noise", "edge", "objective", "outcomes", "constraints"}
    assert set(SettingsKeys.model_fields) == names - elsewhere


LAWS = [
    ('"0.1"', meseta.Normal(0.1)),
    ("0.1", meseta.Normal(0.1)),
    ("0", meseta.Normal(0.0)),
    ("2", meseta.Normal(2.0)),
    ('"± 0.1"', meseta.Uniform(0.1)),
    ('"+- 0.1"', meseta.Uniform(0.1)),
    ('"+/-.1"', meseta.Uniform(0.1)),
    ('"±5%"', meseta.Uniform(0.05, relative=True)),
    ('"7 %"', meseta.Normal(0.07, relative=True)),
    ('{ law = "normal", std = 1, mean = 0.5 }', meseta.Normal(1.0, 0.5)),
    ('{ law = "normal", std = 0.1, relative = true }', meseta.Normal(0.1, relative=True)),
    ('{ law = "uniform", half_width = 1, mean = 2 }', meseta.Uniform(1.0, 2.0)),
    ('{ law = "triangular", half_width = 1 }', meseta.Triangular(1.0)),
    (
        '{ law = "triangular", low = -1, high = 3, mode = 1 }',
        meseta.Triangular(low=-1, high=3, mode=1),
    ),
    ('{ law = "laplace", scale = 1, mean = 1 }', meseta.Laplace(1, 1)),
    ('{ law = "student-t", df = 4, scale = 1 }', meseta.StudentT(4, 1)),
    (
        '{ law = "truncated-normal", std = 1, low = -inf, high = 2 }',
        meseta.TruncatedNormal(1, -float("inf"), 2),
    ),
    ('{ law = "log-normal", sigma = 0.1 }', meseta.LogNormal(0.1)),
    (
        '{ law = "mixture", weights = [9, 1], laws = [{ law = "normal", std = 1 }, '
        '{ law = "uniform", half_width = 2 }] }',
        meseta.Mixture([meseta.Normal(1.0), meseta.Uniform(2.0)], [9, 1]),
    ),
    ('{ law = "discrete", values = [-1, 1], weights = [1, 3] }', meseta.Discrete([-1, 1], [1, 3])),
    ('{ law = "empirical", samples = [1, 2.5] }', meseta.Empirical([1, 2.5])),
    ('{ law = "empirical", csv = "data.csv", column = "off" }', meseta.Empirical([0.1, -0.2])),
    (
        '{ law = "normal", std = 1, mean = 5, environment = true }',
        meseta.Environment(meseta.Normal(1.0, 5.0)),
    ),
    (
        '{ law = "normal", std = 1, mean = 5, observed = true }',
        meseta.Environment(meseta.Normal(1.0, 5.0), observed=True),
    ),
]


@pytest.mark.parametrize(("written", "law"), LAWS, ids=[written for written, _ in LAWS])
def test_every_law_of_a_number(study_of, tmp_path, written, law):
    (tmp_path / "data.csv").write_text("part;off\nA;0.1\n\nB;-0.2\n", encoding="utf-8-sig")
    study = study_of(
        f"[parameters.x]\nlow = 1\nhigh = 10\nnoise = {written}\n[parameters.y]\n{X[15:]}"
    )
    assert study.noise() == {"x": law}
    check(study)


CHOICES = 'choices = ["a", "b", 3]\n'


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ("0.1", meseta.Substitution(0.1)),
        ('"10 %"', meseta.Substitution(0.1)),
        ('{ law = "substitution", probability = 0.1 }', meseta.Substitution(0.1)),
        (
            '{ law = "substitution", matrix = [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]] }',
            meseta.Substitution([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]),
        ),
        (
            '{ law = "choices", shares = { a = 0.75, 3 = 0.25 } }',
            meseta.Environment({"a": 0.75, 3: 0.25}),
        ),
        (
            '{ law = "choices", shares = { a = 1 }, observed = true }',
            meseta.Environment({"a": 1.0}, observed=True),
        ),
    ],
)
def test_every_law_of_choices(study_of, written, law):
    study = study_of(f"{X}[parameters.c]\n{CHOICES}noise = {written}\n")
    assert study.noise() == {"c": law}
    check(study)


@pytest.mark.parametrize(
    ("written", "law"),
    [
        (
            'law = "normal"\ncovariance = [[1, 0.5], [0.5, 1]]\nmean = [0, 1]',
            meseta.Normal(covariance=[[1.0, 0.5], [0.5, 1.0]], mean=[0.0, 1.0]),
        ),
        (
            'law = "common"\nloads = [0.1, -0.3]\nof = { law = "normal", std = 2 }',
            meseta.Shared(meseta.Normal(2.0), [0.1, -0.3]),
        ),
        ('law = "common"\nof = { law = "normal", std = 2 }', meseta.Shared(meseta.Normal(2.0))),
        ('law = "empirical"\nrows = [[1, 2], [3, 5]]', meseta.Empirical([[1, 2], [3, 5]])),
        ('law = "empirical"\ncsv = "data.csv"', meseta.Empirical([[1, 2], [3, 5]])),
        (
            'law = "empirical"\ncsv = "data.csv"\ncolumns = ["y", "z"]',
            meseta.Empirical([[2, 9], [5, 9]]),
        ),
    ],
)
def test_every_joint_law(study_of, tmp_path, written, law):
    (tmp_path / "data.csv").write_text("y,x,z\n2,1,9\n5,3,9\n")
    ranges = X + X.replace("x", "y")
    study = study_of(f'{ranges}[[noise]]\nparameters = ["x", "y"]\n{written}\n')
    assert study.noise() == {("x", "y"): law}
    check(study)
    read_noise(study.noise(), study.space())


def test_names_may_be_anything(study_of):
    names = ["<script>", "flow rate", "a.b", "ä", '"', "\\", "a\tb", "😀", "[x]", "#"]
    study = study_of("".join(f"[parameters.{key(name)}]\n{X[15:]}" for name in names))
    assert study.space().names == tuple(names)
    check(study)


@given(NAMES.filter(lambda name: name.strip() and "\0" not in name and len(name) <= 512))
@examples(40)
def test_any_name_is_read_and_pointed_at(tmp_path_factory, name):
    path = tmp_path_factory.getbasetemp() / "named.toml"
    path.write_text(f"# x\n[parameters.{key(name)}]\nlow = 0\nhigh = 1\n", encoding="utf-8")
    assert list(read_study(path).parameters) == [name]
    path.write_text(f"# x\n[parameters.{key(name)}]\nlow = 0\nhigh = '1'\n", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        read_study(path)
    (mistake,) = caught.value.mistakes
    assert mistake.line == 4
    assert mistake.place == ("parameters", name, "high")


# --- refusals ---


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[study]\nbudgt = 3\n" + X, "press.toml:2: study.budgt is not known: there is no key"),
        ("[study]\nbudgt = 3\n" + X, "did you mean 'budget'?"),
        ("[study]\nn_trials = 3\n" + X, "there is no key 'n_trials' (did you mean 'budget'?)"),
        ("[study]\nrandom_state = 3\n" + X, "(did you mean 'seed'?)"),
        ("[study]\nbudget = 0\n" + X, "press.toml:2: study.budget must be at least 1, got 0"),
        ("[study]\nbudget = 2.5\n" + X, "study.budget must be a whole number, got 2.5"),
        ("[study]\nseed = -1\n" + X, "study.seed must be at least 0, got -1"),
        (
            "[study]\nkernel = 'matern'\n" + X,
            "press.toml:2: study.kernel is not known: there is no value 'matern'",
        ),
        ("[study]\nprior = 'flat'\n" + X, "press.toml:2: study.prior is not known"),
        (
            "[study]\nscatter_in_use = 'some'\n" + X,
            'press.toml:2: study.scatter_in_use must be "all" (the parts scatter as the values do)',
        ),
        ("[study]\nscatter_in_use = 0\n" + X, "a positive number, or a table of these by outcome"),
        ("[study]\nscatter_in_use = { value = -1 }\n" + X, "or a table of these by outcome, got {"),
        (
            "[study]\ninitial = 'sobl'\n" + X,
            "press.toml:2: study.initial is not known: there is no value 'sobl' (did you mean",
        ),
        ("[study]\ninitial = 3\n" + X, "press.toml:2: study.initial must be one of 'sobol', 'unif"),
        (
            "[study]\ninitial = []\n" + X,
            "must be one of 'sobol', 'uniform', or a list",
        ),
        (
            "[study]\ninitial = [0.5]\n" + X,
            "a list of designs such as [{ angle = 20.0 }], got [0",
        ),
        ("[study]\nseed = 0x" + "f" * 9000 + "\n" + X, "study.seed"),
        ("version = 0x" + "f" * 9000 + "\n" + X, "newer version of meseta"),
        ("[study]\nname = ' '\n" + X, "study.name must not be empty"),
        ("[study]\nname = 3\n" + X, "study.name must be a text in quotes"),
        ("[study]\ndirection = 'maximise'\n" + X, "did you mean 'maximize'?"),
        ("[study]\ndirection = 1\n" + X, "must be one of 'maximize', 'minimize', got 1"),
        ("[study]\nstorage = 'x://${A-B}'\n" + X, "study.storage must name variables as in"),
        ("[study]\nstorage = 'x://${A'\n" + X, "study.storage must close every ${ with }"),
        ("study = 3\n" + X, "press.toml:1: study must be a table, { ... }, got 3"),
        ("version = 2\n" + X, "press.toml:1: version is 2, but this meseta reads"),
        ("version = 0\n" + X, "version must be at least 1, got 0"),
        ("version = '1'\n" + X, "version must be a whole number, got '1'"),
        ("version = true\n" + X, "version must be a whole number, got True"),
        ("", "press.toml:1: parameters is missing"),
        ("[parameters]", "press.toml:1: parameters must have at least one table"),
        ("[parameter.x]", "did you mean 'parameters'?"),
        ("[parameters]\nx = [0, 1]", "press.toml:2: parameters.x must be a table, { ... }"),
        ("[parameters.' ']\nlow = 0\nhigh = 1", "must have a name"),
        ("[parameters.x]\nlow = 0", "parameters.x must have low and high, or choices"),
        ("[parameters.x]\nlow = true\nhigh = 1", "press.toml:2: parameters.x.low must be a number"),
        ("[parameters.x]\nlow = nan\nhigh = 1", "parameters.x.low must be a finite number"),
        ("[parameters.x]\nlow = 1\nhigh = 0", "press.toml:3: parameters.x.high must be greater"),
        ("[parameters.x]\nlow = 1979-05-27\nhigh = 0", "parameters.x.low must be a number"),
        ("[parameters.x]\nchoices = 'ab'", "parameters.x.choices must be a list, [...], got 'ab'"),
        ("[parameters.x]\nchoices = [1,\n[2]]", "press.toml:3: parameters.x.choices[1] must be a"),
        ("[parameters.x]\nchoices = [1, 2]\nlow = 3", "parameters.x.low does not go with choices"),
        ("[parameters.x]\nchoices = [1, 2]\ntype = 'int'", "parameters.x.type is 'int', which"),
        (X + "type = 'category'", "press.toml:4: parameters.x.type is 'category', which needs"),
        (
            X + "edge = 'cut'",
            "press.toml:4: parameters.x.edge is not known: there is no value 'cut'",
        ),
        (X + "noise = true", "parameters.x.noise must be a number such as 0.1"),
        (X + "noise = []", "parameters.x.noise must be a number such as 0.1"),
        (X + "noise = 'wide'", "parameters.x.noise must be a number such as 0.1"),
        (X + "noise = '__import__(1)'", "parameters.x.noise must be a number such as 0.1"),
        (X + "noise = '-0.1'", "parameters.x.noise must be a number such as 0.1"),
        (X + "noise = '0.1 mm'", "parameters.x.noise has the unit 'mm' in '0.1 mm', but"),
        (X + "unit = 'um'\nnoise = '0.1 mm'", "must have the unit 'um', or be in %"),
        (X + "noise = '0,1'", "parameters.x.noise has the unit ',1'"),
        (X + "noise = {}", "press.toml:4: parameters.x.noise must say which law it is"),
        (X + "noise = { law = 'norml', std = 1 }", "did you mean 'normal'?"),
        (X + "noise = { law = 3 }", "parameters.x.noise.law must be one of 'normal', 'uniform'"),
        (X + "noise = { law = 'normal' }", "press.toml:4: parameters.x.noise.std is missing"),
        (X + "noise = { law = 'normal', std = 'lambda x: x' }", "noise.std must be a number, got"),
        (X + "noise = { law = 'normal', width = 1 }", "there is no key 'width'"),
        (X + "noise = { law = 'empirical' }", "must have either samples = [...] or csv"),
        (X + "noise = { law = 'empirical', samples = [1], column = 'a' }", "there is no csv"),
        (X + "noise = { law = 'substitution' }", "must have either probability"),
        (X + "noise = { law = 'mixture', laws = [3] }", "noise.laws[0] must be a table such as"),
        (
            X + "[parameters.x.noise]\nlaw = 'mixture'\nlaws = [\n {law = 'normal', std = 1},\n"
            " {law = 'normal', std = 'x'}]",
            "press.toml:8: parameters.x.noise.laws[1].std must be a number, got 'x'",
        ),
        (
            X + "noise = { law = 'mixture', laws = [{law='normal', std=1, environment=true}] }",
            "noise.laws[0].environment belongs into the table around",
        ),
        (
            X + "[[noise]]\nlaw = 'normal'\ncovariance = [[1]]",
            "press.toml:4: noise[0].parameters is missing",
        ),
        (X + "[noise]\nlaw = 'normal'", "press.toml:4: noise must be a list, [...]"),
        (
            X + "[[noise]]\nlaw = 'common'\nparameters = ['x', 'z']\nof = {law='normal', std=1}",
            "press.toml:6: noise[0].parameters are not known: there is no parameter 'z'",
        ),
        (
            X + "[[noise]]\nlaw = 'common'\nparameters = ['x', 'x']\nof = {law='normal', std=1}",
            "noise[0].parameters must name two or more, each once, got ['x', 'x']",
        ),
        (
            X
            + X.replace("x", "y")
            + 2
            * "[[noise]]\nlaw = 'common'\nparameters = ['x', 'y']\nof = {law='normal', std=1}\n",
            "press.toml:13: noise[1].parameters must be in one [[noise]] at most",
        ),
        ("[objective]\n" + X, "press.toml:1: objective must have either python"),
        ("objective = 3\n" + X, "objective must be a table with python"),
        ("[objective]\npython='a:b'\ncommand=['a']\n" + X, "got both"),
        (
            "[objective]\npython='a'\n" + X,
            "press.toml:2: objective.python must be 'module:function'",
        ),
        ("[objective]\npython='./sub/a.py:f'\n" + X, "write 'sub.a:f'"),
        ("[objective]\npython='a:b'\ntimeout=0\n" + X, "objective.timeout must be greater"),
        ("[objective]\npython='a:b'\ninput='json'\n" + X, "objective.input is not known"),
        (
            "[objective]\ncommand='./sim --a \"{x} y\"'\n" + X,
            "must be a list, since it is not run by a shell, got a text; you probably mean "
            "['./sim', '--a', '{x} y']",
        ),
        ("[objective]\ncommand='./sim \"'\n" + X, "you probably mean ['./sim', '\"']"),
        ("[objective]\ncommand=[]\n" + X, "objective.command must start with a program"),
        ("[objective]\ncommand=['a', 3]\n" + X, "objective.command[1] must be a text"),
        ('[objective]\ncommand=["a\\u0000"]\n' + X, "must not contain the character 0"),
        (
            "[objective]\ncommand=['a']\n" + X,
            "must hand over every parameter, but 'x' is not in it",
        ),
        (
            "[objective]\ncommand=['a',\n '{x}',\n '{y}']\n" + X,
            "press.toml:4: objective.command[2] has a placeholder {y} in '{y}', but there is no",
        ),
        ("[objective]\ncommand=['a', '{x']\n" + X, "has a brace without its other half"),
        ("[objective]\ncommand=['a', '{x}']\ntimeout=0\n" + X, "objective.timeout must be greater"),
        ("[objective]\ncommand=['a', '{x}']\ntimeout=inf\n" + X, "timeout must be a finite number"),
        ("[objective]\ncommand=['a', '{x}']\ninput='json'\n" + X, "goes with input = 'arguments'"),
        ("[objective]\ncommand=['a']\ninput='xml'\n" + X, "objective.input is not known"),
        (
            "[objective]\ncommand=['a']\ninput='environment'\n" + X + X.replace("x", "X"),
            "press.toml:3: objective.input cannot be 'environment': 'X' would be MESETA_X",
        ),
        (
            "[objective]\ncommand=['a']\ninput='environment'\n" + X.replace("x", "params"),
            "'params' would be MESETA_PARAMS",
        ),
        (
            "[objective]\ncommand=['a', '{x}']\n"
            + X
            + "noise = { law = 'normal', std = 1, observed = true }",
            "'x' is observed = true: it cannot be set",
        ),
        ("a = \n", "press.toml:1: not valid TOML: Invalid value, column 5"),
        ("[study]\nname = press\n", "press.toml:2: not valid TOML"),
        ("a = 1\na = 2", "press.toml:2: not valid TOML: Cannot overwrite a value"),
        ("a = " + "9" * 5000, "press.toml: not valid TOML"),
        (b"a = 1\nb = '\xff'", "press.toml:2: is not UTF-8, as TOML must be"),
        ("a = 1".encode("utf-16"), "press.toml:1: is not UTF-8, as TOML must be"),
    ],
)
def test_what_is_refused_when_the_file_is_read(refusal, text, says):
    (line, *more) = refusal(text)
    assert says in line
    assert not more or says.startswith(("noise[0].parameters", "press.toml:13"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (X + "step = 0.3", "press.toml:1: parameters.x cannot be used: the range of a Float"),
        (
            "[study]\nscatter_in_use = { stress = 0.1 }\n" + X,
            "press.toml:2: study.scatter_in_use cannot be used: scatter_in_use: there is no",
        ),
        (X + "log = true", "press.toml:1: parameters.x cannot be used: a Float on a logarithmic"),
        ("[parameters.x]\nchoices = ['a']", "parameters.x cannot be used: a Categorical takes"),
        ("[parameters.x]\nchoices = [1, 1.0]", "choices must be distinct"),
        ("[parameters.x]\ntype = 'int'\nlow = 0.5\nhigh = 2", "must be a whole number, got 0.5"),
        (
            X.replace("x", "value"),
            "parameters.value cannot be used: a parameter cannot be named 'value'",
        ),
        (X + "noise = { law = 'normal', std = -1 }", "press.toml:4: parameters.x.noise cannot be"),
        (X + "noise = { law = 'student-t', df = 1, scale = 1 }", "StudentT df must be greater"),
        (X + "noise = { law = 'empirical', samples = [] }", "parameters.x.noise cannot be used"),
        (
            X + "noise = { law = 'empirical', csv = 'no.csv' }",
            "no.csv cannot be read: No such file",
        ),
        (
            X + "noise = { law = 'substitution', probability = 0.1 }",
            "only a choice can be replaced",
        ),
        (X + "noise = '± 1e200'", "times as wide as its range"),
        (X + "noise = { law = 'log-normal', sigma = -1 }", "LogNormal sigma must be greater"),
        (X + "[parameters.c]\n" + CHOICES + "noise = 3", "each must lie between 0 and 1"),
        (
            X + "[parameters.c]\n" + CHOICES + "noise = { law = 'choices', shares = { z = 1 } }",
            "press.toml:6: parameters.c.noise cannot be used: there is no choice 'z'",
        ),
        (
            X + "[parameters.c]\n" + CHOICES + "noise = { law = 'normal', std = 1 }",
            "parameters.c.noise cannot be used: 'c' is a choice",
        ),
        (
            X + "noise = { law = 'normal', std = 1, mean = 1, environment = true }",
            "every parameter is an Environment",
        ),
        (
            X + X.replace("x", "y") + "[[noise]]\nlaw = 'normal'\nparameters = ['x', 'y']\n"
            "covariance = [[1, 2], [2, 1]]",
            "press.toml:7: noise[0] cannot be used",
        ),
        (
            X + X.replace("x", "y") + "[[noise]]\nlaw = 'common'\nparameters = ['x', 'y']\n"
            "loads = [1]\nof = { law = 'normal', std = 1 }",
            "press.toml:7: noise[0] cannot be used",
        ),
        (
            X + "edge = 'clip'\n" + X.replace("x", "y") + "[[noise]]\nlaw = 'common'\n"
            "parameters = ['x', 'y']\nof = { law = 'normal', std = 1 }",
            "press.toml:8: noise[0] cannot be used",
        ),
        ("[study]\nmethod = 'rgk'\n" + X, "press.toml:2: study.method cannot be used"),
        ("[study]\noptions.K = 3\n" + X, "press.toml:2: study.options cannot be used"),
        (
            "[study]\ninitial = [\n{ x = 0.5 },\n{ x = 1.5 },\n]\n" + X,
            "press.toml:4: study.initial[1] cannot be used: initial points must lie in the box",
        ),
        (
            X + "[[study.initial]]\nx = 0.5\n[[study.initial]]\ny = 0.5\n",
            "press.toml:6: study.initial[1] cannot be used: there is no parameter 'y'",
        ),
        (
            "[study]\ninitial = [{ }]\n" + X,
            "press.toml:2: study.initial[0] cannot be used: params must have a value for every",
        ),
        (
            "[study]\ninitial = [{ x = '0.5' }]\n" + X,
            "press.toml:2: study.initial[0] cannot be used: the value of 'x' must be a number",
        ),
        (
            "[study]\ninitial = [{ x = 0.1 }, { x = 0.2 }]\nnum_initial = 1\n" + X,
            "press.toml:3: study.num_initial cannot be used: num_initial is 1 but 2 initial",
        ),
    ],
)
def test_what_is_refused_when_it_is_built(refusal, text, says):
    (line,) = refusal(text, whole=True)
    assert says in line


def test_all_mistakes_are_reported_in_the_order_of_lines(refusal):
    text = X + "noise = '?'\n[study]\nseed = -1\n[parameters.y]\nlow = 'a'\nhigh = 'b'\n"
    lines = [int(line.split(":")[1]) for line in refusal(text)]
    assert lines == [4, 6, 8, 9]
    wrong = "noise = { law = 'normal', std = -1 }\n"
    text = X + wrong + "[study]\nmethod = 'no'\n" + X.replace("x", "y") + wrong
    lines = [int(line.split(":")[1]) for line in refusal(text, whole=True)]
    assert lines == [4, 6, 10]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n1,2\n", "data.csv has 2 columns ('a', 'b'), but 1 must be read; say which"),
        ("", "data.csv is empty"),
        ("off\n1\nx\n", "data.csv:3 must have a finite number in column 1, got 'x'"),
        ("off\n1\nnan\n", "data.csv:3 must have a finite number"),
        ('off\n"1,234"\n', "'1,234' may be 1.234 or 1234; write one of these"),
        ('off\n"0,1"\n0.2\n', "data.csv:3 must have a finite number in column 1: '0.2' has a"),
        (b"off\n\x81\n", "data.csv is neither UTF-8 nor Windows-1252"),
    ],
)
def test_csv_files_that_are_refused(refusal, tmp_path, content, says):
    (tmp_path / "data.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    (line,) = refusal(X + "noise = { law = 'empirical', csv = 'data.csv' }", whole=True)
    assert says in line


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    "content",
    [
        "größe;off\n1,5;0,1\n2;-0,2\n",
        "größe\toff\n1,5\t0,1\n2\t-0,2\n",
        'größe,off\n"1,5","0,1"\n2,"-0,2"\n',
        "größe;off\n1;0.1\n2;-0.2\n",
    ],
)
def test_measurements_are_read_as_spreadsheets_save_them(tmp_path, capsys, content, encoding):
    (tmp_path / "data.csv").write_bytes(content.encode(encoding))
    for _ in range(2):
        read = read_columns(tmp_path / "data.csv", ["off"], 1)
        assert read.tolist() == [[0.1], [-0.2]]
    said = capsys.readouterr().err
    assert said.count("decimal commas: 0,1 is 0.1") <= 1
    assert said.count("read as Windows-1252") == (encoding == "cp1252")


def test_measurements_need_no_names_where_decimals_have_commas(tmp_path):
    (tmp_path / "data.csv").write_text("0,1;2,5\n-0,2;3\n")
    read = read_columns(tmp_path / "data.csv", None, 2)
    assert read.tolist() == [[0.1, 2.5], [-0.2, 3.0]]


def test_a_csv_column_that_is_not_there_is_named(refusal, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    text = X + "noise = { law = 'empirical', csv = 'data.csv', column = 'c' }"
    assert "must have one column 'c', but it has 'a', 'b'" in refusal(text, whole=True)[0]


def test_files_that_are_none(tmp_path):
    for path, says in [
        (tmp_path, "is a folder"),
        (tmp_path / "no.toml", "there is no such file; `meseta init` writes one"),
        (Path("/dev/null"), "is no regular file"),
        (tmp_path / ("x" * 300), "cannot be read"),
        (tmp_path / "a\0b", "a\0b"),
    ]:
        with pytest.raises(StudyError, match=re.escape(says)) as caught:
            read_study(path)
        assert str(caught.value).startswith(str(path))
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(17 * 2**20)
    with pytest.raises(StudyError, match="larger than 16 MiB"):
        read_study(large)


def test_windows_files_are_read(study_of):
    assert study_of(b"\xef\xbb\xbf" + X.replace("\n", "\r\n").encode()).space().names == ("x",)


def test_an_error_survives_pickling(tmp_path):
    with pytest.raises(StudyError) as caught:
        read_study(tmp_path / "no.toml")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.mistakes == caught.value.mistakes


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["law", "std", "laws", "low", "high", "noise", "choices", "x"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
@examples(40)
def test_no_contents_raise_anything_but_a_study_error(contents):
    from meseta.study.toml.file import _validated

    raw = {"parameters": {"x": contents}, "noise": [contents]}
    with suppress(StudyError):
        _validated("press.toml", raw, {})


@given(st.floats(0, 1e6, allow_subnormal=False), st.sampled_from(["", " ", "  "]))
def test_short_noise_is_exact(number, space):
    assert read_short(repr(number)) == {"law": "normal", "std": number}
    assert read_short(f"±{space}{number!r}")["half_width"] == number
    assert read_short("2.5 %")["std"] == 0.025


# --- storage ---


@pytest.mark.parametrize(
    ("storage", "url"),
    [
        (None, "sqlite:////lab/press.db"),
        ("other.db", "sqlite:////lab/other.db"),
        ("/data/other.db", "sqlite:////data/other.db"),
        ("../other.db", "sqlite:////other.db"),
        ("sqlite:///sub/a.db?timeout=9", "sqlite:////lab/sub/a.db?timeout=9"),
        ("sqlite:////data/a.db", "sqlite:////data/a.db"),
        ("${MESETA_HOME}/a.db", "sqlite:////home/me/a.db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        (
            "postgresql://me:${MESETA_PW}@${HOST}:5432/db",
            "postgresql://me:p%40s%2Fs@db.local:5432/db",
        ),
        ("${MESETA_URL}", "postgresql://u:p%40@h/d"),
    ],
)
def test_storage(storage, url):
    environment = {
        "MESETA_HOME": "/home/me",
        "MESETA_PW": "p@s/s",
        "HOST": "db.local",
        "MESETA_URL": "postgresql://u:p%40@h/d",
        "MESETA_ALLOW_ENV": "PORT, HOST",
    }
    assert storage_url(storage, Path("/lab/press.toml"), environment) == url


@pytest.mark.parametrize(
    ("storage", "says"),
    [
        *(
            (each, "a database in memory, whose trials are lost")
            for each in (
                ":memory:",
                "sqlite:///:memory:",
                "sqlite://",
                "sqlite:///",
                "sqlite+pysqlite:///",
                "sqlite:///?timeout=9",
                "sqlite:///file:a.db?mode=memory&uri=true",
            )
        ),
        ("sqlite:a.db", "an address has :// after its first word"),
        ("sqlite:/a.db", "an address has :// after its first word"),
        ("a\0.db", "the character NUL"),
        (".", "it would be a folder"),
        ("sqlite:////", "it would be a folder"),
        ("postgresql://u:sec@ret@host/db", "write that of a user or a password as %40"),
        ("postgresql://u:secret@host:port/db", "it is no address of a database"),
        ("${MESETA_URL}", "write that of a user or a password as %40"),
    ],
)
def test_an_address_that_is_none_that_lasts_is_refused(tmp_path, storage, says):
    environment = {"MESETA_URL": "postgresql://u:sec@ret@host/db"}
    with pytest.raises(ValueError, match=says) as found:
        storage_url(storage, tmp_path / "press.toml", environment)
    assert "ret" not in str(found.value)


@pytest.mark.parametrize("name", ["with space", "a#b", "a@b", "übung", "qu'ot\"e", "100%", "a&b=c"])
def test_a_file_may_have_any_letters_that_a_url_can_hold(folder, name):
    Path("lab.toml").write_text(f"[study]\nname = 'lab'\nstorage = '''{name}.db'''\n{X}")
    typed("ask", "lab.toml")
    assert Path(f"{name}.db").is_file()
    assert "1 pending" in typed("status", "lab.toml").stdout


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "meseta_x", "XMESETA_"])
def test_a_file_does_not_get_the_secrets_of_its_reader(name):
    environment = {name: "secret", "MESETA_ALLOW_ENV": "HOST"}
    storage = f"postgresql://${{MESETA_USER}}:${{{name}}}@evil.example/db"
    environment["MESETA_USER"] = "me"
    with pytest.raises(ValueError, match=rf"variable {name},.*MESETA_ALLOW_ENV=.*{name}") as e:
        storage_url(storage, Path("/lab/press.toml"), environment)
    assert "secret " not in f"{e.value} ".replace("secrets that", "")


def test_a_missing_variable_is_named_and_passwords_stay_out_of_sight(study_of, monkeypatch):
    study = study_of("[study]\nstorage = 'postgresql://me:${MESETA_PW}@host/db'\n" + X)
    monkeypatch.delenv("MESETA_PW", raising=False)
    with pytest.raises(StudyError, match=r"press.toml:2: study.storage .* variable MESETA_PW"):
        _ = study.storage_url
    monkeypatch.setenv("MESETA_PW", "secret")
    assert study.storage_url == "postgresql://me:secret@host/db"
    assert "secret" not in repr(study)


@pytest.mark.parametrize(("storage", "name"), [(None, "a.db"), ("a.toml", "a.toml")])
def test_trials_are_not_kept_in_the_study_file(storage, name):
    with pytest.raises(ValueError, match="it would be the study file itself"):
        storage_url(storage, Path("/lab") / name)


@pytest.mark.parametrize("folder", ["what?", "a%20b"])
def test_folders_that_a_url_cannot_hold_are_refused(folder):
    with pytest.raises(ValueError, match="question mark, or %"):
        storage_url(None, Path("/") / folder / "press.toml")


# --- template and docs ---


@pytest.mark.parametrize("name", ["press", 'my "press"', "NAME", "a\\b\n", "<script>"])
def test_the_template_is_a_study(study_of, name):
    study = study_of(template(name))
    assert study.name == name
    check(study)


def test_what_the_template_suggests_is_right_too(study_of):
    text = template("press")
    rows = [
        row.removeprefix("# ")
        if re.match(r"# (\[|command|timeout|parameters|law|of|loads|method|notes|storage)", row)
        else row
        for row in text.splitlines()
    ]
    study = study_of("\n".join(rows))
    assert study.objective.timeout == 600
    assert ("shaft", "bore") in study.noise()
    check(study)
    study_of(text.replace("# [objective]", "[objective]").replace("# python", "python"))


def test_every_line_of_the_template_is_explained():
    lines = template("press").splitlines()
    assert len(lines) < 75
    assert max(map(len, lines)) <= 100
    tomllib.loads("\n".join(lines))


PAGE = DOCS.read_text(encoding="utf-8") if DOCS.exists() else ""


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL))
def test_files_on_the_page_are_studies(study_of, tmp_path, block):
    """What stands alone on the page is completed by the parameters it mentions."""
    (tmp_path / "batch.csv").write_text("arm,gap\n0.1,0.2\n-0.1,0.3\n0.2,-0.1\n")
    if "[parameters" not in block and "low =" not in block:
        names = ["angle", "flow rate", "arm", "gap", "u", "v"]
        block += "".join(f"\n[parameters.{key(name)}]\nlow = 0\nhigh = 10\n" for name in names)
    check(study_of(block))


def test_every_key_is_on_the_page():
    from meseta.study.toml import keys as tables
    from meseta.study.toml import noise_keys as noise_tables

    written = [*vars(noise_tables).values(), *vars(tables).values(), *noise_tables.TABLES.values()]
    for table in written:
        if isinstance(table, type) and issubclass(table, tables.Table):
            for name in table.model_fields:
                forms = (f"`{name}`", f"{name} =", f"[{name}")
                assert any(form in PAGE for form in forms), name
    for law in (*noise_tables.TABLES, *noise_tables.JOINT, "substitution", "choices"):
        assert f'law = "{law}"' in PAGE, law


def test_reading_a_file_does_not_load_torch(tmp_path):
    path = tmp_path / "press.toml"
    path.write_text(template("press"), encoding="utf-8")
    code = (
        "import sys\n"
        "import meseta.study\n"
        "assert 'pydantic' not in sys.modules\n"
        "import meseta.study.workers.objective, meseta.study.toml.template\n"
        "from meseta.study.toml.file import read_study\n"
        f"read_study({str(path)!r}).storage_url\n"
        "assert 'torch' not in sys.modules and 'pandas' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("parameters.x.low = 4,0\n", "numbers have a decimal point"),
        ("[parameters.x]\nlow = 0\n[parameters.x]\nhigh = 1\n", "stands once in the file"),
        ("[parameters.x]\nlow = 0\nlow = 1\n", "stands once in the file"),
        ("study.unit = mm\n", "texts stand in quotes"),
    ],
)
def test_advice_on_toml_that_is_not_valid(tmp_path, text, advice):
    (tmp_path / "press.toml").write_text(text)
    with pytest.raises(StudyError, match=advice):
        read_study(tmp_path / "press.toml")
