"""What must work after `pip install meseta`, with none of the extras: run by `make package`.

    python -I tests/smoke.py [--without-extras]

Uses what is installed only; pytest is not needed.
"""

import importlib
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Modules that an extra brings something for, and the name of that extra.
EXTRAS = {
    "meseta.report.plot": "plot",
    "meseta.report.page": "report",
    "meseta.integrations.dashboard": "dashboard",
}

STUDY = """
[study]
budget = 4
[objective]
python = "hill:height"
[parameters.x]
low = 0.0
high = 1.0
noise = 0.1
"""
OBJECTIVE = "def height(params):\n    return -(params['x'] - 0.4) ** 2\n"


def check_import() -> None:
    begin = time.perf_counter()
    import meseta

    assert "torch" not in sys.modules, "importing meseta loads torch"
    print(f"meseta {meseta.__version__} imported in {time.perf_counter() - begin:.3f} s")


def check_optimizer() -> None:
    import meseta

    result = meseta.maximize(
        lambda p: math.sin(5 * p["x"]),
        {"x": (0.0, 1.0)},
        noise={"x": meseta.Normal(0.05)},
        budget=6,
        progress=False,
    )
    assert abs(result.params["x"] - math.pi / 10) < 0.1, result
    assert len(result.history) == 6


def check_command_line() -> None:
    done = typed("run", "hill.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "robust optimum" in done.stdout, done.stdout


def typed(*words: str, study: str = STUDY) -> "subprocess.CompletedProcess[str]":
    """A command, in a folder with a study."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hill.toml").write_text(study, encoding="utf-8")
        Path(folder, "hill.py").write_text(OBJECTIVE, encoding="utf-8")
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "meseta.cli", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)


def check_extras_are_named() -> None:
    for module, extra in EXTRAS.items():
        said = ""
        try:
            importlib.import_module(module)
        except ImportError as error:
            said = str(error)
        assert f"meseta[{extra}]" in said, f"{module} without its extra says {said!r}"
    away = STUDY.replace("budget = 4", 'budget = 4\nstorage = "postgresql://127.0.0.1:1/none"')
    for words, extra, study in (
        (("bench", "run", "quick", "--runs", "1"), "bench", STUDY),
        (("bench", "run", "quick", "--runs", "1", "--dask", "127.0.0.1:1"), "dask", STUDY),
        (("ask", "hill.toml"), "postgresql", away),
        (("ask", "hill.toml", "--xlsx", "next.xlsx"), "excel", STUDY),
    ):
        done = typed(*words, study=study)
        assert done.returncode == 1, done
        assert f"meseta[{extra}]" in done.stderr, done.stderr
    # there must be something to report: the page is asked for at the end
    begun = STUDY.replace("budget = 4", 'budget = 4\nstorage = "sqlite:///{}"')
    with tempfile.TemporaryDirectory() as folder:
        study = begun.format(Path(folder, "hill.db").as_posix())
        typed("ask", "hill.toml", study=study)
        done = typed("report", "hill.toml", study=study)
    assert done.returncode == 1, done
    assert "meseta[report]" in done.stderr, done.stderr


if __name__ == "__main__":
    check_import()
    check_optimizer()
    check_command_line()
    if "--without-extras" in sys.argv:
        check_extras_are_named()
    print("fine")
