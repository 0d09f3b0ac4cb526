"""The settings of an optimizer: what each one means, and what is refused."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypedDict, get_args

from meseta.acquisition import methods
from meseta.acquisition.methods import DEFAULT_METHOD
from meseta.boundary import EVERY, SEEDS, check_word, read_count, read_number, read_possible
from meseta.gp.fit import KernelName, Prior
from meseta.measures import Measure, read_measure
from meseta.measures.constraints import Constraint
from meseta.optimizer.evaluation import GIVE_UP
from meseta.optimizer.outcomes import VALUE, Outcomes, read_outcomes
from meseta.optimizer.precision import VARIES, Execution, ScatterInUse, read_scatter
from meseta.optimizer.words_elsewhere import unknown_setting
from meseta.space.allowed import Rules, check_rules
from meseta.space.initial import Initial, check_initial
from meseta.space.named_noise import NamedEdge, NamedNoise, check_edge, check_noise

Direction = Literal["maximize", "minimize"]


class StepKeywords(TypedDict, total=False):
    """The settings of one step, as keywords."""

    method: str
    options: object
    seed: int | None
    kernel: KernelName
    prior: Prior
    noise_variance: float | int | str | None


class Keywords(StepKeywords, total=False):
    """All settings as keywords, but for the direction."""

    noise: NamedNoise | None
    edge: NamedEdge
    allowed: Rules
    num_initial: int | None
    initial: Initial
    measure: Measure | str
    objective: str
    outcomes: Sequence[str]
    constraints: Mapping[str, Constraint]
    possible: tuple[float, float]
    scatter_in_use: ScatterInUse
    executed: Execution
    verify: int
    give_up: int


class OptimizerKeywords(Keywords, total=False):
    """All settings as keywords."""

    direction: Direction


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of an optimizer, checked as far as they can be without its parameters.

    Every function that takes these as keywords also takes them as `settings=Settings(...)`; a
    keyword beside it counts more.
    """

    noise: NamedNoise | None = None
    """What perturbs a design: a law for each parameter that is perturbed,
    `{"speed": Normal(0.05)}`, or one for all parameters; None: nothing. A tuple of names has a
    joint law; `Environment` marks a quantity that is no part of the design."""

    measure: Measure | str = "mean"
    """What is wanted of the values in use: "mean", `Quantile(0.05)`, `CVaR(0.1)`, `MeanStd(2)`,
    `WorstCase()`, `OnTarget(70.0)` or `Yield(low=..., high=...)`; or its words, "cvar 0.1"."""

    objective: str = VALUE
    """The name of what is optimised among the outcomes of an experiment, where there are several:
    these are told as a dict, `{"weight": 3.2, "stress": 231.0}`."""

    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    """Limits that outcomes have to keep in use, `{"stress": AtMost(250, probability=0.99)}`;
    `AtLeast` and `Between` are others. The probability is over the noise, 0.95 if none is given."""

    outcomes: Sequence[str] = ()
    """The names of further outcomes, which are kept and modelled, and have no limits."""

    edge: NamedEdge = "allow"
    """What becomes of perturbed values beyond the ranges: "allow" (f exists there), "clip",
    "reflect" or "truncate"; one for all parameters, or a dict."""

    allowed: Rules = ()
    """Which designs there may be, known without an experiment: inequalities such as
    "water + 2 * acid <= 1", functions that take a design and return True or False, or a list."""

    direction: Direction = "maximize"
    """Whether large values are wanted, "maximize", or small ones, "minimize". `meseta.maximize`,
    `meseta.minimize` and Optuna studies have a direction of their own."""

    method: str = DEFAULT_METHOD
    """How the next design is chosen: one of `meseta.methods.names()`."""

    options: object = None
    """The options of the method, as a dict; None: its defaults."""

    kernel: KernelName = "auto"
    """How smooth f is: "se" (squared exponential: very smooth), "matern52" (twice differentiable),
    "matern32" (once), or "auto": a mixture of these, weighted by what the values speak for."""

    prior: Prior = "default"
    """The prior of the lengthscales: "default" (weak, scaled with the number of parameters), or
    "paper": close to the standard deviation of the noise, as in the paper's published runs."""

    noise_variance: float | int | str | None = None
    """The variance of a measurement of f: how much repeated ones differ; None: it is inferred.
    "varies": it depends on the design, and is learned from repeats, or from standard deviations
    that are told. A value with a standard deviation of its own has that."""

    scatter_in_use: ScatterInUse = "all"
    """The part of the scatter of single values that parts have in use, for all figures but means:
    "all", "none" (it is error of the gauge), or the standard deviation of the gauge. By outcome as
    a dict, `{"stress": 0.1}`; those that it does not name have "all"."""

    executed: Execution = "known"
    """What is known about where an experiment was carried out: "known", where it was told; or
    "unseen": the noise acted on it as it does in use, and nobody saw how. Then a value is a noisy
    one of g. `tell` may say so for single experiments."""

    possible: tuple[float, float] = EVERY
    """The smallest and the largest value that f can have: (0, 1) for a share, (0, math.inf) for
    what cannot be negative. Other values are refused, and estimates end there; the model itself
    does not know it."""

    verify: int = 5
    """After how many evaluations the recommended design is put to the test: it is evaluated itself,
    unless a design within 2 % of the ranges was. 0: never."""

    give_up: int = GIVE_UP
    """After how many evaluations, all of which failed, `meseta.maximize` and `meseta.minimize` give
    up and say why; 0: never, where most designs are known to fail. Optimizers do not mind."""

    seed: int | None = 0
    """The seed of everything random; None: another one each time."""

    num_initial: int | None = None
    """The number of designs that are asked for or told before the model takes over; None: 3, 5, 10
    for one, two, three parameters, and 2 d + 4 for d parameters beyond."""

    initial: Initial = "sobol"
    """How these are spread, "sobol" or "uniform"; or a list of designs. These are all asked for
    first, and followed by Sobol points if num_initial is larger."""

    def __new__(cls, **keywords: Any) -> "Settings":
        """Refuse keywords that are not known, and say what is meant."""
        _check_known(keywords, [field.name for field in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for what, name, known in (
            ("direction", self.direction, get_args(Direction)),
            ("kernel", self.kernel, get_args(KernelName)),
            ("prior", self.prior, get_args(Prior)),
        ):
            check_word(what, name, known)
        check_noise(self.noise)
        check_edge(self.edge)
        self._keep("allowed", check_rules(self.allowed))
        methods.checked_options(self.method, self.options)
        check_initial(self.initial)
        if self.seed is not None:
            self._keep("seed", read_count("seed", self.seed, least=0, most=SEEDS))
        if self.num_initial is not None:
            self._keep("num_initial", read_count("num_initial", self.num_initial))
        self._keep("measure", read_measure(self.measure))
        methods.check_measure(self.method, read_measure(self.measure))
        self._keep("possible", read_possible(self.possible))
        named = self.named_outcomes
        self._keep("constraints", dict(named.constraints))
        if named.constraints:
            methods.check_constraints(self.method)
        for outcome, constraint in named.constraints:
            possible = self.possible if outcome == self.objective else EVERY
            constraint.check_possible(outcome, possible)
        self._keep("verify", read_count("verify", self.verify, least=0))
        self._keep("give_up", read_count("give_up", self.give_up, least=0))
        if self.noise_variance is not None and not _is_varies(self.noise_variance):
            self._keep("noise_variance", _read_variance(self.noise_variance))
        known = (self.objective, *named.names, *dict(named.constraints))
        self._keep("scatter_in_use", read_scatter(self.scatter_in_use, known))
        check_word("value of executed", self.executed, get_args(Execution))
        if self.executed == "unseen":
            methods.check_unseen(self.method)

    @property
    def named_outcomes(self) -> Outcomes:
        """The outcomes by their names."""
        return read_outcomes(self.objective, self.outcomes, self.constraints)

    def drawn_seed(self) -> int:
        """The seed, or another one each time if there is none."""
        return secrets.randbits(62) if self.seed is None else self.seed

    def _keep(self, name: str, plain: object) -> None:
        """A number of another library as a plain one."""
        object.__setattr__(self, name, plain)


def read_settings(
    settings: Settings | None, keywords: Mapping[str, Any], kind: type = Keywords
) -> Settings:
    """The settings that a user passes, changed by the keywords beside them.

    Args:
        settings: None: the defaults.
        keywords: As they came.
        kind: The TypedDict with the keywords that are known.
    """
    if settings is not None and not isinstance(settings, Settings):
        raise TypeError(f"settings must be meseta.Settings(...), got {settings!r}")
    known = [field.name for field in fields(Settings) if field.name in kind.__annotations__]
    _check_known(keywords, known)
    return replace(settings or Settings(), **keywords)


def _check_known(keywords: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in keywords:
        if name not in known:
            raise TypeError(unknown_setting(name, known))


def _is_varies(noise_variance: object) -> bool:
    return isinstance(noise_variance, str) and noise_variance == VARIES


def _read_variance(noise_variance: object) -> float:
    remedy = f'leave it out to have it inferred, or say "{VARIES}" if it depends on the design'
    variance = read_number("noise_variance", noise_variance, remedy)
    if variance < 0:
        raise ValueError(f"noise_variance must not be negative, got {noise_variance!r}; {remedy}")
    return variance
