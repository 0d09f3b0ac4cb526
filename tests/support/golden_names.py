"""What the cases of `tests/golden.py` ask of a revision, by the names that it has for it.

The only place to rename: a name that has changed stays playable with both revisions by a line in
CHANGED.
"""

import contextlib
import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from golden_cases import Case

# "module:name" of today -> what earlier revisions call it, the latest first.
CHANGED: Mapping[str, tuple[str, ...]] = {}

Worth = float | None  # what a design is chosen for: the value of what it is to be the highest of


def public(name: str) -> Any:
    """What a revision has under that name, or under an earlier one."""
    for each in (name, *CHANGED.get(name, ())):
        module, _, attribute = each.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(import_module(module), attribute)
    raise ImportError(f"this revision has no {name}; a line in CHANGED says what it calls it")


def optimizer_of(case: Case, path: Path) -> Any:
    """The optimizer of a study file that was told the history of the case."""
    study = public("meseta.study.toml.file:read_study")(path)
    optimizer = public("meseta:Optimizer")(
        study.space(), settings=study.settings(), **_python(case)
    )
    for row in case.history:
        optimizer.tell(**row)
    if not case.pending:
        return optimizer
    made, trials = public("meseta.optimizer.record:Trial"), list(optimizer.trials)
    for number in range(len(trials), len(trials) + case.pending):
        trials.append(made(number, case.design(number), None, "pending", "method"))
    return optimizer.with_trials(trials)


def _python(case: Case) -> dict[str, Any]:
    """Settings that no study file can say."""
    names = {name: import_module(name) for name in ("meseta", "scipy.stats")}
    names["scipy"] = import_module("scipy")
    return {key: eval(expression, names) for key, expression in case.python.items()}


def asked(optimizer: Any) -> tuple[dict[str, Any], Any, Worth]:
    """The next design, what is known of its making, and what the acquisition function is there.

    Of a design that is put to the test that is what recommended designs are chosen for; of one of
    a sequence that fills the box nothing is known.
    """
    optimizer.ask()
    trial, info = optimizer.trials[-1], optimizer.info
    about = {"origin": trial.origin}
    if trial.origin == "test":
        return trial.params, about, _bet(optimizer, trial.params)
    if info is None or info.acquisition is None or trial.origin != "method":
        return trial.params, about, None
    row = optimizer.space.to_cube(trial.params)
    about |= {"fit": info.fit, "recorded": info.recorded, "maximize": info.maximize}
    about |= {"smoothing_error": info.smoothing_error}
    return trial.params, about, float(info.acquisition.value(row[None])[0])


def answers(optimizer: Any) -> dict[str, tuple[Any, Worth]]:
    """The designs that are recommended, with what each is chosen for."""
    best, nominal = optimizer.recommend(), optimizer.nominal()
    return {
        "recommend": (best, _bet(optimizer, best.params)),
        "nominal": (nominal, _bet(optimizer, nominal.params, nominal=True)),
    }


def _bet(optimizer: Any, params: Mapping[str, Any], nominal: bool = False) -> float:
    """What a recommended design is chosen for, limits left out."""
    row = optimizer.environments.to_row(params)
    mixture, measure = optimizer.fitted.mixture, optimizer.measure_in_model()
    if nominal:
        value = public("meseta.optimizer.recommend:nominal_value")(mixture, measure)
    elif measure is None:
        believed = public("meseta.optimizer.recommend:belief_of")
        value = believed(mixture, optimizer.method, optimizer.options)
    else:
        measured = public("meseta.optimizer.recommend:mean_of_measure")
        value = measured(mixture, measure, seed=optimizer.seed)
    return float(value(row[None])[0])


def in_optuna(case: Case, path: Path) -> dict[str, tuple[dict[str, Any], Any, Worth]]:
    """The same of an Optuna study with parameters that not all trials have."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    read = public("meseta.study.toml.file:read_study")(path)
    sampler = public("meseta.integrations.optuna:RobustSampler")(settings=read.settings())
    study = optuna.create_study(direction=read.direction, sampler=sampler)
    tables = case.contents["parameters"].items()
    ranges = {name: (t["low"], t["high"]) for name, t in tables if "low" in t}
    number, choice = optuna.distributions.FloatDistribution, [True, False]
    kinds: dict[str, Any] = {name: number(*ends) for name, ends in ranges.items()}
    kinds["branch"] = optuna.distributions.CategoricalDistribution(choice)
    for row in case.history:
        params = {n: v for n, v in row["params"].items() if n != "y" or row["params"]["branch"]}
        had = {name: kinds[name] for name in params}
        study.add_trial(optuna.create_trial(params=params, distributions=had, value=row["value"]))
    asked = study.ask()
    params = {"x": asked.suggest_float("x", *ranges["x"])}
    params["branch"] = asked.suggest_categorical("branch", choice)
    noise = {"x": read.noise()["x"]}
    best = public("meseta.integrations.optuna:recommend")(study, noise=noise)
    about = {"mean": best.mean, "std": best.std, "notes": best.notes}
    return {"ask 1": (params, {}, None), "recommend": (best.params, about, None)}


def command(words: Sequence[str]) -> tuple[int, str]:
    """What a command says on standard output, and the code that it ends with."""
    from typer.testing import CliRunner

    with contextlib.redirect_stderr(io.StringIO()):
        result = CliRunner().invoke(public("meseta.cli:app"), list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout
