"""A tall needle at 0.2 and a broad plateau at 0.7, and what is built is off by 0.05."""

from __future__ import annotations

import argparse
import math

import optuna
import optunahub

import meseta


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    needle = math.exp(-(((x - 0.2) / 0.02) ** 2))
    plateau = 0.5 * math.exp(-(((x - 0.7) / 0.15) ** 2))
    return needle + plateau


def main(n_trials: int, registry_root: str | None) -> None:
    if registry_root is None:
        module = optunahub.load_module("samplers/meseta")
    else:
        module = optunahub.load_local_module("samplers/meseta", registry_root=registry_root)
    noise = {"x": meseta.Normal(0.05)}
    sampler = module.RobustSampler(noise=noise, seed=1)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial({"x": 0.2})
    study.optimize(objective, n_trials=n_trials)
    print("best value seen at", study.best_params)
    print(module.recommend(study, noise=noise))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-trials", type=int, default=20)
    parser.add_argument("--registry-root", help="a local folder, such as ./package")
    arguments = parser.parse_args()
    main(arguments.n_trials, arguments.registry_root)
