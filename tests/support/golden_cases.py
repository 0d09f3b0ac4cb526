"""The cases that `tests/golden.py` plays with two revisions: data, and what follows from it alone.

A case is a study file with a told history. What no file can say is in `python`: settings as
expressions of public names. Nothing here imports the library.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

STEPS = (0.618034, 0.754878, 0.56984)  # of a sequence that fills the box, by parameter
NEAR_END = 0.03  # share of a range
DIGITS = 6  # of told designs and values


@dataclass(frozen=True)
class Case:
    name: str
    parameters: Mapping[str, str]  # by name its table, in TOML
    study: str = ""  # keys of [study]
    more: str = ""  # further tables
    python: Mapping[str, str] = field(default_factory=dict)  # settings, as expressions
    told: int = 8  # values
    pending: int = 0  # designs asked for before, and not told
    ask: int = 1  # designs
    std: float | None = None  # told with every value
    repeats: bool = False  # every design is told twice, with other values
    pairs: bool = False  # every other trial was carried out a little off its plan, and measured
    failed: int = 0  # trials without a value
    conditional: bool = False  # played in Optuna, where `branch` decides whether there is a `y`
    commands: bool = False  # play every command, too
    quick: bool = False

    @property
    def text(self) -> str:
        """The study file."""
        tables = "\n".join(f"{name} = {{ {t} }}" for name, t in self.parameters.items())
        return f"[study]\n{self.study}\n[parameters]\n{tables}\n{self.more}\n"

    @cached_property
    def contents(self) -> dict[str, Any]:
        return tomllib.loads(self.text)

    @property
    def widths(self) -> dict[str, float]:
        """The range of each parameter that is a number."""
        tables = self.contents["parameters"].items()
        return {name: t["high"] - t["low"] for name, t in tables if "low" in t}

    def design(self, number: int) -> dict[str, Any]:
        """Design `number` of a sequence that is the same for every revision."""
        return self._at([math.modf(0.5 + (number + 1) * step)[0] for step in STEPS])

    @property
    def given(self) -> list[dict[str, Any]]:
        """The designs that are asked about: one close to the end of the ranges, two within."""
        return [self._at([NEAR_END] * len(STEPS)), self.design(20), self.design(22)]

    def _at(self, shares: Sequence[float]) -> dict[str, Any]:
        tables = self.contents["parameters"].items()
        return {name: _value(t, share) for share, (name, t) in zip(shares, tables, strict=False)}

    def value(self, params: Mapping[str, Any], again: int = 0) -> float | dict[str, float]:
        """What an experiment gives: a narrow peak, a broad hill, and a slope of all else."""
        tables = self.contents["parameters"]
        first, *others = [_share(tables[name], params[name]) for name in tables if name in params]
        hill = 1.2 * math.exp(-(((first - 0.3) / 0.1) ** 2))
        hill += math.exp(-(((first - 0.7) / 0.25) ** 2)) + 0.05 * again
        hill += sum(0.3 * math.cos(3 * each) for each in others)
        minimized = self.contents["study"].get("direction") == "minimize"
        value = round(-hill if minimized else hill, DIGITS)
        names = self.contents.get("constraints", {})
        if not names:
            return value
        stress = round(first + 0.5 * sum(others), DIGITS)
        return {self.objective: value, **dict.fromkeys(names, stress)}

    @property
    def objective(self) -> str:
        """What the study calls its value."""
        return self.contents["study"].get("value", "value")

    @property
    def history(self) -> list[dict[str, Any]]:
        """What `tell` takes of each trial."""
        rows: list[dict[str, Any]] = []
        for number in range(self.told):
            plan = self.design(number // 2 if self.repeats else number)
            row: dict[str, Any] = {"params": plan, "value": self.value(plan, number % 2)}
            if self.pairs and number % 2:
                name = next(iter(plan))
                row["executed"] = {name: round(plan[name] + 0.03 * (-1) ** (number // 2), DIGITS)}
            if self.std is not None:
                row["std"] = self.std
            rows.append(row)
        failed = range(self.told, self.told + self.failed)
        return rows + [{"params": self.design(n), "value": None, "error": "broke"} for n in failed]

    @property
    def spread(self) -> float:
        """Of the told values."""
        told = [row["value"] for row in self.history if row["value"] is not None]
        values = [each[self.objective] if isinstance(each, dict) else each for each in told]
        return max(values) - min(values)

    @property
    def features(self) -> set[str]:
        """What the case is about, in words such as "law uniform" and "method rkg"."""
        study = self.contents["study"]
        words = {
            f"method {study.get('method', 'rkg')}",
            f"kernel {study.get('kernel', 'auto')}",
            f"direction {study.get('direction', 'maximize')}",
            f"measure {study.get('measure', 'mean').split()[0]}",
            f"executed {study.get('executed', 'known')}",
        }
        for table in self.contents["parameters"].values():
            words |= _of_parameter(table)
        words |= {"kind joint" for _ in self.contents.get("noise", ())}
        words |= {"limits" for _ in self.contents.get("constraints", ())}
        words |= {f"python {name}" for name in self.python}
        said = ("pending", "std", "repeats", "pairs", "failed", "conditional", "commands", "quick")
        words |= {name for name in said if getattr(self, name)}
        keys = ("noise_variance", "scatter_in_use", "allowed", "possible", "prior")
        return words | set(keys) & set(study) | ({"batch"} if self.ask > 1 else set())


def _value(table: Mapping[str, Any], share: float) -> Any:
    """The value of a parameter at that share of its range."""
    if "choices" in table:
        return table["choices"][int(share * len(table["choices"]))]
    low, high = table["low"], table["high"]
    value = low * (high / low) ** share if table.get("log") else low + (high - low) * share
    whole = table.get("type") == "int"
    step = table.get("step", 1 if whole else None)
    if step is None:
        return round(value, DIGITS)
    value = low + step * round((value - low) / step)
    return int(value) if whole else round(value, DIGITS)


def _share(table: Mapping[str, Any], value: Any) -> float:
    if "choices" in table:
        return table["choices"].index(value) / len(table["choices"])
    return (value - table["low"]) / (table["high"] - table["low"])


def _of_parameter(table: Mapping[str, Any]) -> set[str]:
    words = {word for word in ("step", "log", "evaluate", "choices", "cost") if table.get(word)}
    words |= {f"edge {table['edge']}", "kind placed"} if "edge" in table else set()
    words |= {"whole numbers"} if table.get("type") == "int" else set()
    noise = table.get("noise")
    if noise is None:
        return words | {"kind none"}
    law = noise["law"]
    others = {"substitution": "substitution", "choices": "environment"}
    kinds = {
        "relative": noise.get("relative", False),
        "environment": noise.get("environment", law == "choices") or noise.get("observed", False),
        "learned": law == "learned-normal",
        "substitution": law == "substitution",
    }
    found = {f"kind {kind}" for kind, is_so in kinds.items() if is_so}
    return words | (found or {"kind added"}) | (set() if law in others else {f"law {law}"})


def _x(noise: str = "", more: str = "") -> dict[str, str]:
    """One parameter between 0 and 1."""
    return {"x": f"low = 0, high = 1{f', noise = {{ {noise} }}' if noise else ''}{more}"}


def _xy(noise: str, other: str = "") -> dict[str, str]:
    return _x(noise) | {"y": f"low = 0, high = 2{f', noise = {{ {other} }}' if other else ''}"}


def _by(method: str = "rkg", kernel: str = "se", *more: str) -> str:
    return "\n".join((f'method = "{method}"', f'kernel = "{kernel}"', *more))


NORMAL = 'law = "normal", std = 0.08'
UNIFORM = 'law = "uniform", half_width = 0.1'
LEARNED = 'law = "learned-normal", std = 0.08, worth = 5'
STUDENT = 'law = "student-t", df = 4, scale = 0.05'
DISCRETE = 'law = "discrete", values = [-0.1, 0.0, 0.1], weights = [1, 2, 1]'
SAMPLE = 'law = "empirical", samples = [0.02, -0.05, 0.11, -0.08, 0.01]'
MIXTURE = (
    'law = "mixture", weights = [0.9, 0.1], laws = '
    '[{ law = "normal", std = 0.03 }, { law = "normal", std = 0.15 }]'
)
CUT = 'law = "truncated-normal", std = 0.08, low = -0.1, high = 0.15'
FACTOR = 'law = "log-normal", sigma = 0.1'
MIN = 'direction = "minimize"'
STRESS = "[constraints.stress]\nat_most = 0.9\nprobability = 0.9"
BAND = "[constraints.stress]\nat_least = 0.2\nat_most = 0.9"
COVARIANCE = "covariance = [[0.006, 0.002], [0.002, 0.01]]"
CAUSE = 'law = "common"\nof = { law = "normal", std = 0.1 }\nloads = [0.8, -0.5]'
CLOUD = 'law = "empirical"\nrows = [[0.05, 0.1], [-0.08, 0.02], [0.03, -0.12], [0.0, 0.05]]'
TWO = '[[noise]]\nparameters = ["x", "y"]\n'
SOLVENT = '"water", "ethanol", "acetone"'
MATRIX = "matrix = [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]"
GOAL = "at_least = 0.4\nprobability = 0.8"

LAWS = [
    Case("normal", _x(NORMAL), _by("rkg", "auto"), quick=True),
    Case("normal-ei", _x('law = "normal", std = 0.1, mean = 0.02'), _by("ei", "matern32", MIN)),
    Case("uniform", _x(UNIFORM), _by("nes-ep", "matern52"), quick=True),
    Case("uniform-two", _xy(UNIFORM, NORMAL), _by("uu-ei", "se", MIN)),
    Case("learned", _x(LEARNED), _by(), pairs=True, quick=True),
    Case("learned-ucb", _x(LEARNED), _by("uu-ucb", "matern52", MIN), pairs=True),
    Case("triangular", _x('law = "triangular", half_width = 0.15'), _by("uu-mes")),
    Case(
        "triangular-skew",
        _x('law = "triangular", low = -0.1, high = 0.2, mode = 0.0'),
        _by("unscented-ei", "matern52", MIN),
    ),
    Case("laplace", _x('law = "laplace", scale = 0.05'), _by("nes-rs")),
    Case("laplace-ei", _x('law = "laplace", scale = 0.05'), _by("ei", "matern52", MIN)),
    Case("student", _x(STUDENT), _by("rkg", "matern32"), quick=True),
    Case("student-two", _xy(NORMAL, STUDENT), _by("uu-ei")),
    Case("truncated", _x(CUT), _by("nes-ep")),
    Case(
        "truncated-one-side",
        _x('law = "truncated-normal", std = 0.1, low = -inf, high = 0.1'),
        _by("uu-mes", "matern32", MIN),
    ),
    Case("log-normal", {"x": f"low = 0.5, high = 2, noise = {{ {FACTOR} }}"}, _by()),
    Case(
        "log-normal-log",
        {"x": f"low = 0.5, high = 5, log = true, noise = {{ {FACTOR} }}"},
        _by("uu-ucb", "auto"),
    ),
    Case("discrete", _x(DISCRETE), _by("unscented-ei"), quick=True),
    Case("discrete-rejection", _x(DISCRETE), _by("nes-rs", "matern52")),
    Case("empirical", _x(SAMPLE), _by("rkg", "se", MIN)),
    Case("empirical-sobol", _x(SAMPLE), _by("sobol", "matern52")),
    Case("mixture", _x(MIXTURE), _by("uu-ei", "matern52")),
    Case("mixture-sobol", _x(MIXTURE), _by("sobol")),
]

KINDS = [
    Case(
        "relative",
        {"x": 'low = 0.5, high = 2, noise = { law = "normal", std = 0.05, relative = true }'},
        _by(),
    ),
    Case(
        "relative-tolerance",
        {"x": 'low = 1, high = 3, noise = { law = "uniform", half_width = 0.1, relative = true }'},
        _by("uu-ei", "se", MIN),
    ),
    Case("clip", _x(NORMAL, ', edge = "clip"'), _by(), quick=True),
    Case("reflect", _x(UNIFORM, ', edge = "reflect"'), _by("nes-ep", "matern52")),
    Case("truncate", _x(STUDENT, ', edge = "truncate"'), _by("uu-ucb")),
    Case("clip-discrete", _x(DISCRETE, ', edge = "clip"'), _by("ei")),
    Case("joint", _xy(""), _by(), TWO + f'law = "normal"\n{COVARIANCE}'),
    Case("joint-cause", _xy(""), _by("uu-ei"), TWO + CAUSE),
    Case("joint-cloud", _xy(""), _by("nes-ep"), TWO + CLOUD),
    Case("joint-and-own", _xy(UNIFORM), _by("rkg", "se", MIN), TWO + CAUSE),
    Case(
        "environment",
        _xy(NORMAL, 'law = "normal", std = 0.3, mean = 1.0, environment = true'),
        _by(),
        quick=True,
    ),
    Case(
        "observed",
        _xy(UNIFORM, 'law = "uniform", half_width = 0.5, mean = 1.0, observed = true'),
        _by("uu-ei", "matern52"),
    ),
    Case(
        "season",
        _x(NORMAL)
        | {
            "season": 'choices = ["summer", "winter"], '
            'noise = { law = "choices", shares = { summer = 0.7, winter = 0.3 } }'
        },
        _by(),
    ),
    Case(
        "substitution",
        _x(NORMAL)
        | {"s": f'choices = [{SOLVENT}], noise = {{ law = "substitution", probability = 0.1 }}'},
        _by(),
        quick=True,
    ),
    Case(
        "substitution-matrix",
        _x() | {"s": f'choices = [{SOLVENT}], noise = {{ law = "substitution", {MATRIX} }}'},
        _by("uu-ei", "se", MIN),
    ),
    Case("no-noise", _x(), _by("ei", "matern52")),
    Case(
        "width-of-place",
        _x(),
        _by(),
        python={"noise": "{'x': meseta.Normal(lambda x: 0.02 + 0.1 * x)}"},
    ),
    Case(
        "of-scipy",
        _x(),
        _by("nes-ep"),
        python={"noise": "{'x': meseta.from_scipy(scipy.stats.gumbel_r(scale=0.05))}"},
    ),
]

MEASURES = [
    Case("quantile", _x(NORMAL), _by("rkg", "se", 'measure = "quantile 0.1"'), quick=True),
    Case("quantile-up", _x(UNIFORM), _by("sobol", "matern52", MIN, 'measure = "quantile 0.05"')),
    Case("cvar", _x(NORMAL), _by("rkg", "matern52", 'measure = "cvar 0.1"')),
    Case("cvar-two", _xy(UNIFORM, NORMAL), _by("sobol", "se", MIN, 'measure = "cvar 0.2"')),
    Case("mean-std", _x(NORMAL), _by("rkg", "se", 'measure = "mean-std 1"')),
    Case("mean-std-down", _x(STUDENT), _by("sobol", "se", MIN, 'measure = "mean-std 2"')),
    Case("worst", _x(UNIFORM), _by("rkg", "se", 'measure = "worst-case"')),
    Case("worst-down", _x(DISCRETE), _by("sobol", "matern32", MIN, 'measure = "worst-case"')),
    Case("target", _x(NORMAL), _by("rkg", "se", 'measure = "on-target 0.6"')),
    Case(
        "target-clip", _x(NORMAL, ', edge = "clip"'), _by("sobol", "se", 'measure = "on-target 1"')
    ),
    Case("yield", _x(NORMAL), _by("rkg", "se", 'measure = "yield 0.5 inf"')),
    Case("yield-band", _x(UNIFORM), _by("sobol", "se", 'measure = "yield 0.3 0.9"')),
]

WAYS = [
    Case("unseen", _x(NORMAL), _by("rkg", "se", 'executed = "unseen"'), quick=True),
    Case("unseen-down", _x(UNIFORM), _by("rkg", "matern52", MIN, 'executed = "unseen"')),
    Case("known-std", _x(NORMAL), _by(), std=0.05),
    Case("known-std-gauge", _x(NORMAL), _by("uu-ei", "se", 'scatter_in_use = "none"'), std=0.1),
    Case("known-variance", _x(NORMAL), _by("nes-ep", "se", "noise_variance = 0.01")),
    Case(
        "varies", _x(NORMAL), _by("rkg", "se", 'noise_variance = "varies"'), told=10, repeats=True
    ),
    Case(
        "scatter",
        _x(NORMAL),
        _by("rkg", "se", 'measure = "quantile 0.1"', "scatter_in_use = 0.02"),
        told=10,
        repeats=True,
    ),
    Case("limits", _x(NORMAL), _by(), STRESS, quick=True),
    Case("limits-band", _xy(UNIFORM, NORMAL), _by("rkg", "se", MIN), BAND),
    Case("limits-measure", _x(NORMAL), _by("rkg", "se", 'measure = "cvar 0.2"'), STRESS),
    Case("steps", _x(NORMAL, ", step = 0.05"), _by("uu-ei")),
    Case(
        "whole-numbers",
        {"n": 'type = "int", low = 2, high = 16, step = 2'} | _x(NORMAL),
        _by("nes-ep", "matern52"),
    ),
    Case(
        "whole-discrete",
        {"n": 'type = "int", low = 1, high = 9, noise = { law = "discrete", values = [-1, 0, 1] }'},
        _by("rkg", "se", MIN),
    ),
    Case("pending", _x(NORMAL), _by("nes-ep"), pending=2),
    Case("batch", _x(UNIFORM), _by(), ask=3, quick=True),
    Case("batch-pending", _xy(NORMAL), _by("uu-ei", "se", MIN), pending=1, ask=2),
    Case("failed", _x(NORMAL), _by(), failed=2),
    Case("evaluate", _x(NORMAL, ", evaluate = [-0.2, 1.2]"), _by()),
    Case("allowed", _xy(NORMAL), _by("rkg", "se", 'allowed = ["x + y <= 2"]')),
    Case("possible", _x(NORMAL), _by("rkg", "se", "possible = [0, inf]")),
    Case("paper-prior", _x(NORMAL), _by("nes-ep", "se", 'prior = "paper"')),
    Case(
        "conditional", _xy(NORMAL) | {"branch": "choices = [true, false]"}, _by(), conditional=True
    ),
    Case(
        "conditional-ei",
        _xy(UNIFORM) | {"branch": "choices = [true, false]"},
        _by("uu-ei", "se", MIN),
        conditional=True,
    ),
]

COMMANDS = [
    Case(
        "lab",
        {
            "x": f'low = 0, high = 1, unit = "mm", noise = {{ {NORMAL} }}, cost = "0.5 / width"',
        },
        _by("rkg", "se", GOAL, 'value = "force"', 'unit = "N"', "budget = 20"),
        commands=True,
    ),
    Case(
        "lab-stress",
        _x('law = "normal", std = 0.15'),
        _by("rkg", "se", MIN, 'value = "f"'),
        BAND,
        commands=True,
    ),
    Case(
        "lab-choices",
        _x(NORMAL) | {"s": f"choices = [{SOLVENT}]"},
        _by("uu-ei", "matern52", GOAL),
        commands=True,
    ),
    Case(
        "lab-quantile",
        _x(UNIFORM, ', edge = "clip"'),
        _by("rkg", "se", 'measure = "quantile 0.1"', GOAL),
        std=0.02,
        commands=True,
    ),
    Case(
        "lab-environment",
        _xy(NORMAL, 'law = "normal", std = 0.3, mean = 1.0, environment = true'),
        _by("nes-ep", "se", GOAL),
        commands=True,
    ),
]

CASES = {each.name: each for each in (*LAWS, *KINDS, *MEASURES, *WAYS, *COMMANDS)}
