"""Objectives: functions and programs, and everything that can go wrong with them."""

import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from meseta.optimizer.evaluation import read_evaluation
from meseta.study.toml.file import StudyError, read_study
from meseta.study.toml.keys import CommandObjective, PythonObjective
from meseta.study.workers import command, tail
from meseta.study.workers.hand_over import as_environment, as_text, filled, placeholders, variable
from meseta.study.workers.objective import (
    Evaluation,
    EvaluationFailed,
    check_objective,
    load,
    unload,
)

PARAMS = {"x": 0.1, "n": 3, "flow rate": 1e-7, "oil": "a b'\"$HOME", "on": True}


def evaluate(objective, params, folder):
    """One trial, by what evaluates many."""
    loaded = load(objective, folder)
    try:
        return loaded(params)
    finally:
        unload(loaded)


def program(folder, code, name="simulate", python=False):
    """An executable script beside the study."""
    first = f"#!{sys.executable}\n" if python else "#!/bin/sh\n"
    path = folder / name
    path.write_text(first + textwrap.dedent(code), encoding="utf-8")
    path.chmod(0o755)
    return path


def run(folder, *arguments, params=None, **settings_):
    objective = CommandObjective(command=["./simulate", *arguments], **settings_)
    return evaluate(objective, PARAMS if params is None else params, folder)


def failure(folder, *arguments, **settings_):
    with pytest.raises(EvaluationFailed) as caught:
        run(folder, *arguments, **settings_)
    return caught.value


# --- functions ---


def module(folder, code, name="press"):
    (folder / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("1.5", Evaluation(1.5)),
        ("2", Evaluation(2.0)),
        ("__import__('numpy').float32(0.5)", Evaluation(0.5)),
        ("__import__('torch').tensor(0.5)", Evaluation(0.5)),
        ("__import__('numpy').array([0.5])", Evaluation(0.5)),
        (
            "(lambda a: {'value': a, 'executed': {'x': a}})(__import__('numpy').ones((1, 1)))",
            Evaluation(1.0, {"x": 1.0}),
        ),
        (
            "{'value': 1, 'executed': {'x': 1.02, 'oil': 'b'}}",
            Evaluation(1.0, {"x": 1.02, "oil": "b"}),
        ),
        ("p['x'] + p['n']", Evaluation(3.1)),
    ],
)
def test_a_function_gives_its_number(tmp_path, result, expected):
    module(tmp_path, f"def f(p):\n    return {result}\n")
    assert evaluate(PythonObjective(python="press:f"), PARAMS, tmp_path) == expected


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise KeyError('bore')", "KeyError: 'bore'"),
        ("raise ValueError", "ValueError: without a message"),
        ("raise Odd", "Odd: with a message that cannot be shown"),
        ("import sys; sys.exit(3)", "press:f called sys.exit(3)"),
        ("return None", "the result of press:f must be a number, got None"),
        ("return '1.5'", "must be a number, got '1.5'"),
        ("return True", "must be a number, got True"),
        ("return float('nan')", "the result of press:f must be finite, got nan"),
        ("return 10 ** 400", "must be finite"),
        ("return 1j", "must be a number"),
        ("import numpy; return numpy.ones(2)", "must be a number, got array"),
        ("return {}", "must have a 'value'"),
        ("return {'x': 1}", "must have a 'value': there is no key 'value', only 'x'"),
        ("return {'value': 1, 'executed': 3}", "executed must have the values"),
        ("return {'value': 1, 'executed': {'x': [1]}}", "executed 'x' must be a number"),
        ("return {'value': 1, 'executed': {3: 1}}", "executed must have names"),
        ("f(p)", "RecursionError"),
    ],
)
def test_a_function_that_fails_is_a_failed_trial(tmp_path, code, says):
    odd = "class Odd(Exception):\n    def __str__(self):\n        raise TypeError\n"
    module(tmp_path, f"{odd}def f(p):\n    {code}\n")
    with pytest.raises(EvaluationFailed) as caught:
        evaluate(PythonObjective(python="press:f"), PARAMS, tmp_path)
    assert says in caught.value.reason


def test_an_interrupt_in_a_function_is_none_of_a_trial(tmp_path):
    module(tmp_path, "def f(p):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        evaluate(PythonObjective(python="press:f"), PARAMS, tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("ending", "says"),
    [
        ("return 2.0", "the fork returned: it is ended"),
        ("raise ValueError('two')", "the fork raised ValueError: two: it is ended"),
        ("raise SystemExit", ""),
    ],
)
@pytest.mark.parametrize("timeout", [None, 50.0])
def test_a_fork_of_a_function_is_no_second_worker(tmp_path, capfd, ending, says, timeout):
    code = "import os, sys\ndef f(p):\n    fork = os.fork()\n"
    code += f"    if not fork:\n        {ending}\n    os.waitpid(fork, 0)\n    return 1.0\n"
    module(tmp_path, code)
    function = load(PythonObjective(python="press:f", timeout=timeout), tmp_path)
    try:
        assert [function(PARAMS).value for _ in range(2)] == [1.0, 1.0]
    finally:
        unload(function)
    said = capfd.readouterr().err
    assert says in said
    assert bool(said) == bool(says)


def test_a_function_cannot_change_the_parameters(tmp_path):
    module(tmp_path, "def f(p):\n    p.clear()\n    return 1\n")
    params = {"x": 1.0}
    evaluate(PythonObjective(python="press:f"), params, tmp_path)
    assert params == {"x": 1.0}


def test_a_module_is_loaded_once_and_each_folder_has_its_own(tmp_path):
    functions = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        module(folder, f"VALUE = {number}\n", name=f"beside_{number}")
        module(
            folder,
            f"import beside_{number}\ncalls = []\ndef f(p):\n    import beside_{number}"
            f"\n    calls.append(1)\n    return 10 * beside_{number}.VALUE + len(calls)\n",
        )
        functions.append(load(PythonObjective(python="press:f"), folder))
    assert [f({}).value for f in functions * 2] == [11, 21, 12, 22]


def test_modules_with_names_of_others_do_not_replace_them(tmp_path):
    module(tmp_path, "def f(p):\n    import random\n    return random.random()\n", name="random")
    import random

    assert 0 <= load(PythonObjective(python="random:f"), tmp_path)({}).value < 1
    assert sys.modules["random"] is random


def test_packages_and_installed_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "rig_of_test").mkdir()
    module(tmp_path / "rig_of_test", "def f(p):\n    return 4\n", name="sim")
    assert load(PythonObjective(python="rig_of_test.sim:f"), tmp_path)({}).value == 4
    monkeypatch.chdir("/")
    assert load(PythonObjective(python="builtins:len"), tmp_path)(PARAMS).value == len(PARAMS)


@pytest.mark.parametrize(
    ("python", "says"),
    [
        ("nowhere:f", "there is no module 'nowhere' for the objective 'nowhere:f', neither in"),
        (
            "press:force",
            "there is no function 'force' \\(did you mean 'forces'\\?\\), only 'forces'",
        ),
        ("press:DATA", "must be a function, got 3"),
        ("broken:f", "cannot be imported: SyntaxError: .* line 1"),
        ("needy:f", "cannot be imported: No module named 'not_there_at_all'"),
        ("leaving:f", "cannot be imported: SystemExit"),
        ("json.nothing:f", "there is no module 'json.nothing'"),
    ],
)
def test_what_cannot_be_loaded_is_a_mistake_in_the_file(tmp_path, python, says):
    module(tmp_path, "DATA = 3\nclass Force: pass\ndef forces(p): pass\n")
    module(tmp_path, "def f(:\n", name="broken")
    module(tmp_path, "import not_there_at_all\n", name="needy")
    module(tmp_path, "import sys\nsys.exit('bye')\n", name="leaving")
    with pytest.raises(ValueError, match=says):
        load(PythonObjective(python=python), tmp_path)
    path = tmp_path / "press.toml"
    path.write_text(f"[objective]\npython = '{python}'\n[parameters.x]\nlow = 0\nhigh = 1\n")
    with pytest.raises(StudyError, match=f"press.toml:2: objective.python .*{says}"):
        check_objective(read_study(path))


def test_check_objective_looks_for_programs(tmp_path):
    path = tmp_path / "press.toml"
    parameters = "[parameters.x]\nlow = 0\nhigh = 1\n"
    path.write_text(f"[objective]\ncommand = ['./simulate', '{{x}}']\n{parameters}")
    with pytest.raises(StudyError, match=r"press.toml:2: objective.command .* no program './simul"):
        check_objective(read_study(path))
    program(tmp_path, "echo 1")
    check_objective(read_study(path))
    path.write_text(parameters)
    check_objective(read_study(path))


# --- programs ---


def test_arguments_arrive_as_they_are(tmp_path):
    program(
        tmp_path,
        "import json, sys\nprint(json.dumps({'value': 1, 'executed': "
        "{str(i): a for i, a in enumerate(sys.argv[1:])}}))",
        python=True,
    )
    result = run(tmp_path, "--x={x}", "{flow rate}", "{oil}", "{{x}}", "{on}{n}", "$HOME", "*", "")
    assert list(result.executed.values()) == [
        "--x=0.1",
        "1e-07",
        "a b'\"$HOME",
        "{x}",
        "true3",
        "$HOME",
        "*",
        "",
    ]


def test_the_environment(tmp_path):
    program(tmp_path, 'echo "$MESETA_PARAMS" >&2; echo "$MESETA_FLOW_RATE"')
    assert run(tmp_path, input="environment") == Evaluation(1e-7)
    program(tmp_path, 'echo "$MESETA_PARAMS" >&2; exit 1')
    assert json.loads(failure(tmp_path, input="environment").stderr) == PARAMS
    assert variable("flow rate") == "MESETA_FLOW_RATE"
    assert variable("<script>") == "MESETA__SCRIPT_"


def test_json_on_stdin_and_stdout(tmp_path):
    program(
        tmp_path,
        "import json, sys\np = json.load(sys.stdin)\n"
        "print(json.dumps({'force': p['x'], 'executed': {'x': p['x'] + 1}}, indent=1))",
        python=True,
    )
    assert run(tmp_path, input="json", output="json", key="force") == Evaluation(0.1, {"x": 1.1})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("log\\n0.25\\n\\n  \\n", 0.25),
        ("50 %%\\r100 %%\\r-1e-3", -1e-3),
        ('x\\n{"value": 2, "executed": {"x": 3}}\\n', 2.0),
        ("+.5", 0.5),
        ("7.", 7.0),
    ],
)
def test_the_last_line_is_the_result(tmp_path, written, expected):
    program(tmp_path, f"printf '{written}'")
    assert run(tmp_path).value == expected


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("exit 3", "'./simulate' ended with exit code 3"),
        ("kill -9 $$", "ended with signal SIGKILL"),
        ("true", "the program wrote no result to stdout"),
        ("echo done", "the last line of stdout must be a number, got 'done'"),
        ("echo nan", "the last line of stdout must be finite, got nan"),
        ("echo -Infinity", "must be finite"),
        ("echo 1e999", "must be finite"),
        ("echo 1_000", "must be a number, got '1_000'"),
        ("echo 0,5", "must be a number, got '0,5'"),
        ("echo __import__", "must be a number"),
        (r"printf '\377\376'", "stdout is not UTF-8"),
        ("echo '{'", "stdout must be JSON such as"),
        ("""echo '{"a": 1}'""", "must have a 'value': there is no key 'value', only 'a'"),
        ("""echo '{"value": "1"}'""", "'value' of the JSON on stdout must be a number, got '1'"),
        ("""echo '{"value": NaN}'""", "must be finite"),
        ("""echo '{"value": true}'""", "must be a number, got True"),
        ("""echo '{"value": null}'""", "must be a number, got None"),
        ("""echo '{"value": 1, "executed": []}'""", "executed must have the values"),
    ],
)
def test_a_program_that_fails_is_a_failed_trial(tmp_path, code, says):
    program(tmp_path, f"echo reading >&2\necho 'bad \033[31mbore' >&2\n{code}\n")
    error = failure(tmp_path)
    assert says in error.reason
    assert error.stderr == "reading\nbad \\u001b[31mbore"
    assert error.stderr in str(error)
    assert pickle.loads(pickle.dumps(error)).stderr == error.stderr


def test_json_that_is_none(tmp_path):
    program(tmp_path, "printf '[%0100000d' 0 | tr 0 '['")
    assert "stdout must be JSON" in failure(tmp_path, output="json").reason
    program(tmp_path, "echo 3; echo 4")
    assert "stdout must be JSON" in failure(tmp_path, output="json").reason
    program(tmp_path, "echo 4")
    assert run(tmp_path, output="json").value == 4.0


def test_programs_that_are_not_there(tmp_path):
    assert "there is no program './simulate' in" in failure(tmp_path).reason
    path = program(tmp_path, "echo 1")
    path.chmod(0o644)
    assert "is not executable; write: chmod +x" in failure(tmp_path).reason
    path.unlink()
    path.mkdir()
    assert "there is no program" in failure(tmp_path).reason
    with pytest.raises(EvaluationFailed, match="no program 'simulate-it' on the PATH; install"):
        evaluate(CommandObjective(command=["simulate-it"]), {}, tmp_path)
    program(tmp_path, "echo 1", name="beside")
    with pytest.raises(EvaluationFailed, match=r"on the PATH; write './beside'"):
        evaluate(CommandObjective(command=["beside"]), {}, tmp_path)
    with pytest.raises(EvaluationFailed, match="there is no folder"):
        evaluate(CommandObjective(command=["true"], directory="no"), {}, tmp_path)


def test_a_script_without_its_first_line_is_explained(tmp_path):
    path = tmp_path / "simulate"
    path.write_bytes(b"\x01\x02")
    path.chmod(0o755)
    assert "the first line of a script must name what runs it" in failure(tmp_path).reason


def test_values_that_no_program_can_be_given(tmp_path):
    program(tmp_path, "echo 1")
    for value in ["a\0b", "\ud800"]:
        with pytest.raises(EvaluationFailed, match="cannot be started"):
            run(tmp_path, "{x}", params={"x": value})
    with pytest.raises(EvaluationFailed, match="needs a value of 'x', but has none"):
        run(tmp_path, "{x}", params={})


def test_it_works_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    program(tmp_path, "cat number")
    (tmp_path / "number").write_text("1")
    (tmp_path / "sub" / "number").write_text("2")
    monkeypatch.chdir("/")
    assert run(tmp_path).value == 1
    objective = CommandObjective(command=["../simulate"], directory="sub")
    assert evaluate(objective, {}, tmp_path).value == 2
    assert evaluate(CommandObjective(command=["cat", "number"]), {}, tmp_path).value == 1


def test_nothing_of_it_is_mixed_into_ours(tmp_path, capfd):
    program(tmp_path, "echo hello; echo hello >&2; echo 1")
    assert run(tmp_path).value == 1
    assert capfd.readouterr() == ("", "")


def test_huge_output_does_not_eat_memory(tmp_path, monkeypatch):
    program(
        tmp_path,
        "head -c 30000000 /dev/zero | tr '\\0' 'x'; head -c 9000000 /dev/zero >&2; echo; echo 5",
    )
    kept = []
    finish = tail.Tail.finish

    def spy(tail, seconds):
        finish(tail, seconds)
        kept.append(sum(map(len, tail._kept)))

    monkeypatch.setattr(tail.Tail, "finish", spy)
    assert run(tmp_path).value == 5
    assert max(kept) <= tail.LONGEST + 2**16
    assert "bytes, more than the" in failure(tmp_path, output="json").reason
    program(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' '1'")
    error = failure(tmp_path)
    assert "the last line of stdout is longer than" in error.reason
    program(tmp_path, "head -c 900000 /dev/zero | tr '\\0' 'x'; echo; exit 1")
    assert len(str(failure(tmp_path))) < 3000


def test_long_results_make_short_messages():
    for result in [
        {"x" * 10_000: 1},
        "x" * 10_000,
        {str(i): 0 for i in range(10_000)},
        ["x"] * 10_000,
    ]:
        with pytest.raises(EvaluationFailed) as caught:
            read_evaluation(result, "it")
        assert len(str(caught.value)) < 2000


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def gone(pid, seconds=5.0):
    end = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def pids(folder, seconds=10.0):
    """Those the program has written down, once they are all there."""
    end, path = time.monotonic() + seconds, folder / "pids"
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end
        time.sleep(0.02)
    return [int(pid) for pid in path.read_text().split()]


SLOW = 'sleep 100 & echo "$$ $!" > pids; echo waiting >&2; wait'
STUBBORN = "trap '' TERM; " + SLOW


@pytest.mark.parametrize("code", [SLOW, STUBBORN])
def test_a_timeout_ends_all_of_it(tmp_path, monkeypatch, code):
    monkeypatch.setattr(command, "GRACE", 0.3)
    program(tmp_path, code)
    start = time.monotonic()
    error = failure(tmp_path, timeout=0.5)
    assert time.monotonic() - start < 5
    assert "took longer than 0.5 s and was ended" in error.reason
    assert error.stderr == "waiting"
    assert all(gone(pid) for pid in pids(tmp_path))


def test_what_a_program_leaves_behind_is_ended(tmp_path):
    program(tmp_path, "sleep 100 & echo $! > pids; echo 1")
    start = time.monotonic()
    assert run(tmp_path).value == 1
    assert time.monotonic() - start < 5
    assert gone(pids(tmp_path)[0])


def test_a_process_that_got_away_does_not_hold_us(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "GRACE", 0.2)
    program(
        tmp_path,
        "import subprocess, sys\n"
        "p = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "open('pids', 'w').write(f'{p.pid}\\n')\nprint(1, flush=True)\n",
        python=True,
    )
    start = time.monotonic()
    assert run(tmp_path).value == 1
    assert time.monotonic() - start < 10
    os.kill(pids(tmp_path)[0], signal.SIGKILL)


OURS = """
import signal, sys
from meseta.study.workers.objective import load
from meseta.study.toml.keys import CommandObjective
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has others ignore
try:
    load(CommandObjective(command=["./simulate"]), ".")({})
except KeyboardInterrupt:
    sys.exit(77)
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 77), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_end_of_ours_is_its_end(tmp_path, number, code):
    program(tmp_path, SLOW)
    ours = subprocess.Popen([sys.executable, "-c", OURS], cwd=tmp_path, stderr=subprocess.PIPE)
    with ours:
        started = pids(tmp_path)
        ours.send_signal(number)
        assert ours.wait(10) == code
    assert all(gone(pid) for pid in started)


def test_handlers_of_others_stay(tmp_path):
    program(tmp_path, "echo 1")
    before = signal.getsignal(signal.SIGTERM)
    run(tmp_path)
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_reads_stdin_sees_its_end(tmp_path):
    program(tmp_path, "cat; echo 1")
    assert run(tmp_path).value == 1
    program(tmp_path, "echo 2")  # and one that does not read what it is given
    assert run(tmp_path, input="json", params={"x": "y" * 200_000}).value == 2


# --- handing over ---

VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**53), 2**53), st.text()
)


@given(
    st.dictionaries(st.text(st.characters(exclude_characters="{}"), min_size=1), VALUES, min_size=1)
)
@examples(40)
def test_values_are_put_in_once_and_read_back(params):
    for name, value in params.items():
        assert placeholders(f"a{{{name}}}{{{{b}}}}") == [name]
        text = filled(f"{{{name}}}", params)
        assert filled(f"a{{{name}}}{{{{b}}}}", params) == f"a{text}{{b}}"
        assert type(value)(text) == value
    assert json.loads(as_environment(params)["MESETA_PARAMS"]) == params


@given(st.text("{}ab", max_size=12))
def test_braces_stand_for_a_name_or_themselves(argument):
    rest = re.sub(r"\{\{|\}\}|\{[ab]*\}", "", argument)
    if "{" in rest or "}" in rest:
        with pytest.raises(ValueError, match="brace"):
            placeholders(argument)
    else:
        filled(argument, dict.fromkeys(placeholders(argument), 1.0))


@given(st.floats(-1e100, 1e100))
@examples(40)
def test_numbers_that_a_program_writes_are_read_exactly(number):
    assert float(as_text(number)) == number
    assert command._NUMBER.fullmatch(as_text(number))
    assert read_evaluation(np.float64(number), "it").value == number


def test_no_number_is_read_by_evaluation():
    for text in ["1+1", "0x10", "1e", "", ".", "١٢", "1 2"]:
        assert not command._NUMBER.fullmatch(text)
    assert math.isclose(float("1e-3"), 1e-3)
