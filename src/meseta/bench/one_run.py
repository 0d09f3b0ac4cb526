"""One run: the paper's loop on one problem with one method, as a record."""

import platform
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

import meseta
from meseta.acquisition import methods
from meseta.bench.job import Job
from meseta.bench.records import PARTS, RunRecord, failed
from meseta.gp.fit import FitInfo, KernelName, Prior, fit_surrogate
from meseta.gp.known import known_surrogate
from meseta.gp.robust import RobustPosterior
from meseta.gp.surrogate import Surrogate
from meseta.integrations.botorch.loop import recommend, suggest
from meseta.problems import Problem, get, within_model
from meseta.problems.gp_draw import LENGTHSCALE, OUTPUT_STD

KEPT_MESSAGES, MESSAGE_LENGTH, ERROR_LENGTH = 5, 200, 4000


def run(job: Job) -> RunRecord:
    """The run of a job; one that breaks off is recorded as failed, with what it had."""
    torch.set_num_threads(1)
    trace, error = Trace(), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for _ in steps(job, trace):
                pass
        except Exception as failure:
            error = "".join(traceback.format_exception(failure))[-ERROR_LENGTH:]
    messages = [*trace.messages, *(f"{w.category.__name__}: {w.message}" for w in caught)]
    try:
        return record_of(job, trace, messages, error)
    except Exception as failure:  # the problem itself is broken: g, or its very construction
        reason = "".join(traceback.format_exception(failure))[-ERROR_LENGTH:]
        return failed(job, error or reason, versions())


@dataclass
class Trace:
    """The data of a run on its way; y is to be maximised, so flipped for minimisation."""

    x: list[list[float]] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    recommended: list[list[float]] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    messages: list[str] = field(default_factory=list)
    surrogate: Surrogate | None = None  # the last one that was fitted

    @contextmanager
    def clock(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part].append(time.perf_counter() - start)

    def data(self) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
        return (
            torch.tensor(self.x, dtype=torch.double),
            torch.tensor(self.y, dtype=torch.double),
        )


def steps(job: Job, trace: Trace) -> Iterator[None]:
    """The paper's loop; yields after every recommendation, the first after the initial design."""
    problem = problem_of(job.problem, job.seed)
    sign = problem.sign
    bounds = torch.as_tensor(problem.bounds)
    options = dict(job.options)
    eps = stream(job.problem, job.seed, "observation noise")

    def observe(x: list[float]) -> None:
        with trace.clock("evaluate"):
            f = float(problem.f([x])[0])
        trace.x.append(x)
        trace.y.append(sign * f + problem.noise_variance**0.5 * float(eps.standard_normal()))

    for x in initial_design(job, problem).tolist():
        observe(x)
    while True:
        with trace.clock("fit"):
            fitted = _surrogate(job, problem, trace)
        with trace.clock("recommend"):
            posterior = RobustPosterior.from_model(fitted[0], problem.law)
            best = recommend(posterior, bounds, method=job.method, options=options, seed=job.seed)
        trace.recommended.append(best.x.tolist())
        yield
        if len(trace.x) >= job.evaluations:
            return
        with trace.clock("suggest"):
            x, _ = suggest(
                *trace.data(),
                bounds,
                problem.law,
                method=job.method,
                options=options,
                seed=job.seed,
                fitted=fitted,
            )
        observe(x.clamp(bounds[0], bounds[1]).tolist())


def problem_of(name: str, seed: int) -> Problem:
    """The problem of that name; "within-model" has a function of its own for each seed."""
    return within_model(seed) if name == "within-model" else get(name)


def initial_design(job: Job, problem: Problem) -> Float64[np.ndarray, "n d"]:
    """Uniform points, the same for all methods."""
    shape = (problem.num_initial, problem.dimension)
    low, high = problem.bounds
    unit = stream(job.problem, job.seed, "initial design").uniform(size=shape)
    return low + (high - low) * unit


def record_of(job: Job, trace: Trace, messages: list[str], error: str | None) -> RunRecord:
    problem = problem_of(job.problem, job.seed)
    d = problem.dimension
    sign = problem.sign
    recommended = np.array(trace.recommended, dtype=np.float64).reshape(-1, d)
    away = recommended - problem.x_star
    sides = problem.bounds[1] - problem.bounds[0]
    value = problem.g(recommended) if len(recommended) else np.empty(0)
    if not np.isfinite(value).all():
        raise ValueError(f"g of {job.problem} is not finite at a recommended design")
    distinct = list(dict.fromkeys(message[:MESSAGE_LENGTH] for message in messages))
    return RunRecord(
        job=job,
        state="complete" if error is None else "failed",
        x=np.array(trace.x, dtype=np.float64).reshape(-1, d),
        y=sign * np.array(trace.y, dtype=np.float64),
        recommended=recommended,
        value=value,
        regret=np.abs(value - problem.g_star),
        distance=np.linalg.norm(away, axis=-1),
        distance_in_box=np.linalg.norm(away / sides, axis=-1),
        seconds={part: np.array(seconds) for part, seconds in trace.seconds.items()},
        warnings=len(messages),
        messages=tuple(distinct[:KEPT_MESSAGES]),
        error=error,
        settings=_settings(job, problem, trace),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    return {
        "meseta": meseta.__version__,
        **{name: version(name) for name in ("torch", "botorch", "gpytorch", "numpy")},
        "python": platform.python_version(),
    }


def _surrogate(job: Job, problem: Problem, trace: Trace) -> tuple[Surrogate, FitInfo | None]:
    """The surrogate, fitted, or with the true hyper-parameters."""
    X, y = trace.data()
    bounds = torch.as_tensor(problem.bounds)
    if job.prior == "known":
        model = known_surrogate(
            X,
            y,
            bounds,
            lengthscale=LENGTHSCALE,
            variance=OUTPUT_STD**2,
            noise_variance=problem.noise_variance,
        )
        return model, None
    prior: Prior = "paper" if job.prior == "paper" else "default"
    kernel: KernelName = "se" if prior == "paper" else "auto"  # the paper has the one
    trace.surrogate, info = fit_surrogate(X, y, bounds, problem.law, kernel=kernel, prior=prior)
    trace.messages.extend(info.messages)
    return trace.surrogate, info


def _settings(job: Job, problem: Problem, trace: Trace) -> dict[str, Any]:
    """Further settings of the run, and the hyper-parameters it ended with."""
    learned = None if trace.surrogate is None else trace.surrogate.kernel
    return {
        "options": asdict(methods.checked_options(job.method, dict(job.options))),
        "num_initial": problem.num_initial,
        "noise_variance": problem.noise_variance,
        "input_noise": problem.law.covariance_matrix.diagonal().sqrt().tolist(),
        "lengthscale": None if learned is None else _short(learned.lengthscale),
        "outputscale": None if learned is None else _short(learned.variance),
    }


def _short(values: Tensor) -> Any:
    return torch.as_tensor(values).double().apply_(lambda v: float(f"{v:.5g}")).tolist()


def stream(problem: str, seed: int, purpose: str) -> np.random.Generator:
    """Randomness that belongs to a problem and a seed, whatever the method."""
    words = (zlib.crc32(text.encode()) for text in (problem, purpose))
    return np.random.default_rng([seed, *words])
