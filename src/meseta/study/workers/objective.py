"""The objective of a study: a function of Python, or a program."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from meseta.boundary import described_error, unknown
from meseta.optimizer.evaluation import Evaluation, EvaluationFailed, read_evaluation
from meseta.optimizer.forks import in_one_process
from meseta.optimizer.outcomes import ONE, Outcomes
from meseta.study.toml.file import StudyFile
from meseta.study.toml.keys import CommandObjective, Objective, PythonObjective
from meseta.study.workers.command import find_program, run_command
from meseta.study.workers.isolated import Isolated

__all__ = ["Evaluation", "EvaluationFailed", "check_objective", "load", "unload"]

Params = Mapping[str, Any]
Evaluate = Callable[[Params], Evaluation]


def load(objective: Objective, folder: Path | str, outcomes: Outcomes = ONE) -> Evaluate:
    """The function that evaluates trials, for these outcomes.

    A function of Python is imported here, from the folder of the study file if its module is there,
    or else from where Python finds it; a ValueError says why that is not possible. With a timeout
    it is imported and called in a process of its own.
    """
    place = Path(folder).absolute()
    if isinstance(objective, CommandObjective):
        return lambda params: run_command(objective, params, place, outcomes)
    if objective.timeout is not None:
        isolated = Isolated(objective.python, place, objective.timeout, outcomes)
        isolated.start()
        return isolated
    function = _function(objective, place)
    return lambda params: _call(function, objective.python, params, outcomes)


def unload(evaluate: Evaluate) -> None:
    """End the process of a function that has one of its own."""
    if isinstance(evaluate, Isolated):
        evaluate.stop()


def check_objective(study: StudyFile) -> None:
    """Load the function, or look for the program; a StudyError says what is not there.

    Reading a file does not do this, since nothing may be evaluated where it is read.
    """
    if isinstance(study.objective, PythonObjective):
        with study.at(("objective", "python")):
            unload(load(study.objective, study.folder))
    elif study.objective is not None:
        program = study.objective.command[0]
        with study.at(("objective", "command")):
            try:
                if study.objective.input != "arguments" or "{" not in program:
                    find_program(program, study.folder / (study.objective.directory or "."))
            except EvaluationFailed as error:
                raise ValueError(error.reason) from None


def _call(
    function: Callable[[dict[str, Any]], object], name: str, params: Params, outcomes: Outcomes
) -> Evaluation:
    try:
        with in_one_process():
            result = function(dict(params))
    except SystemExit as error:
        raise EvaluationFailed(f"{name} called sys.exit({error.code!r})") from error
    except Exception as error:
        raise EvaluationFailed(described_error(error)) from error
    return read_evaluation(result, f"the result of {name}", outcomes)


def _function(objective: PythonObjective, folder: Path) -> Callable[[dict[str, Any]], object]:
    name = objective.python
    try:
        module = _module(objective.module, folder)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{objective.module}.".startswith(f"{error.name}."):
            raise ValueError(
                f"there is no module {objective.module!r} for the objective {name!r}, neither in "
                f"{folder} nor where Python looks for modules"
            ) from error
        raise ValueError(f"{name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"{name!r} cannot be imported: {_described(error)}") from error
    function = getattr(module, objective.function, None)
    if function is None:
        known = [key for key, value in vars(module).items() if _is_public(key, value)]
        raise ValueError(
            f"{objective.module!r} has no such function: "
            f"{unknown('function', objective.function, known)}"
        )
    if not callable(function):
        raise ValueError(f"{name!r} must be a function, got {function!r}")
    return function


def _described(error: BaseException) -> str:
    where = f", line {error.lineno} of {error.filename}" if isinstance(error, SyntaxError) else ""
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{type(error).__name__}: {message}{where}"


def _is_public(name: str, value: object) -> bool:
    return callable(value) and not name.startswith("_") and not isinstance(value, type)


def _module(name: str, folder: Path) -> ModuleType:
    """The module beside the study file, or else the one that Python finds."""
    file = folder / f"{name}.py"
    if file.is_file():
        return _module_of_file(name, file)
    top = folder / name.split(".")[0]
    if not top.is_dir():
        return importlib.import_module(name)
    with _findable(folder):
        module = importlib.import_module(name)
    found = Path(getattr(module, "__file__", None) or ".")
    if (top / "__init__.py").is_file() and folder.resolve() not in found.resolve().parents:
        raise ImportError(f"{top} has the name of a package that is loaded already; rename it")
    return module


def _module_of_file(name: str, file: Path) -> ModuleType:
    """A module of its own for every file: studies in several folders may all have a press.py."""
    unique = f"{name} of {file.parent}"
    spec = importlib.util.spec_from_file_location(unique, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module  # dataclasses and pickle look it up
    try:
        with _findable(file.parent):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[unique]
        raise
    return module


@contextmanager
def _findable(folder: Path) -> Iterator[None]:
    """Find modules of the folder first while a module is loaded, and last from then on."""
    path = str(folder)
    importlib.invalidate_caches()
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
        if path not in sys.path:
            sys.path.append(path)
