"""Words by which other optimizers call what is called otherwise here, or is said elsewhere."""

from collections.abc import Iterable

from meseta.boundary import unknown

# By what it is called here: the words of Optuna, Ax, BoTorch, bayes_opt, scikit-optimize and SciPy.
_ELSEWHERE = {
    "budget": "n_trials num_trials total_trials max_trials n_calls max_evals max_evaluations "
    "n_iter num_iterations max_iter maxiter maxfun n_evaluations",
    "num_initial": "init_points n_initial_points n_random_starts n_init num_init n_startup_trials "
    "num_initialization_trials num_initialization_steps",
    "initial": "x0 initial_points points_to_evaluate",
    "told values": "y0",
    "seed": "random_state random_seed rng",
    "method": "acq acqf acq_func acquisition acquisition_func acquisition_function "
    "generation_strategy sampler",
    "kernel": "base_estimator",
    "allowed": "parameter_constraints constraint space_constraint",
    "constraints": "outcome_constraints constraints_func nonlinear_constraint",
    "noise_variance": "noise_std noise_level",
    "space": "bounds dimensions pbounds search_space parameter_space parameters",
    "direction": "directions minimize maximize mode sense",
    "executor": "n_jobs num_workers max_parallelism pool parallel workers",
    "callback": "callbacks",
    "progress": "verbose disp show_progress_bar",
    "timeout": "time_limit max_time",
}
MEANT = {word: name for name, words in _ELSEWHERE.items() for word in (name, *words.split())}
# Where that is said which is no setting.
_WHERE = {
    "budget": "budget says how often f is evaluated, initial designs included. It is an argument "
    "of meseta.maximize and meseta.minimize, and a key of [study] in a study file. With ask and "
    "tell you stop when you like, and Study.optimize of Optuna has n_trials",
    "told values": "values that are known already are told to a meseta.Optimizer, "
    "optimizer.tell([design, ...], [value, ...])",
    "space": "the ranges are the argument space, {'x': (0.0, 1.0)}; an Optuna study has them in "
    "its objective",
    "direction": "call meseta.maximize or meseta.minimize; a meseta.Optimizer and study files have "
    "direction = 'minimize', and an Optuna study has its own direction",
    "executor": "meseta.maximize and meseta.minimize evaluate several designs at a time by the "
    "arguments executor and workers, `meseta run` by --workers, and an Optuna study by its n_jobs",
    "callback": "callback is an argument of meseta.maximize and meseta.minimize",
    "progress": "progress = False, an argument of meseta.maximize and meseta.minimize, hides the "
    "bar",
    "timeout": "there is no limit of time; a callback of meseta.maximize that raises "
    "KeyboardInterrupt ends a run, with what was found",
}


def unknown_setting(name: str, known: Iterable[str]) -> str:
    """Say that there is no such setting, and what is called so elsewhere."""
    names = list(known)
    meant = MEANT.get(name)
    if meant in _WHERE and meant not in names:
        return f"there is no setting {name!r}: {_WHERE[meant]}"
    return unknown("setting", name, names, MEANT)
