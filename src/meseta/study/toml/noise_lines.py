"""Noise laws as lines of a study file, and of Python."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meseta.noise.catalogue import LAWS
from meseta.noise.correlated import Correlated
from meseta.noise.fitting import FittedLaw

DIGITS = 4  # of a width; everything else has as many decimals
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class OwnNoise:
    """The noise of one parameter: its law, and the column of a file that has its values."""

    name: str
    law: FittedLaw
    csv: str | None = None  # a file that has the values themselves; None: there is none
    column: str | None = None


@dataclass(frozen=True)
class JointNoise:
    """The noise that several parameters share."""

    law: Correlated
    normal: bool  # otherwise the measured rows themselves are the law
    csv: str | None = None
    columns: tuple[str, ...] = ()


def toml_lines(noise: Sequence[OwnNoise | JointNoise]) -> str:
    """Lines for a study file, whose parameters have ranges besides."""
    return "\n".join(_own(each) if isinstance(each, OwnNoise) else _joint(each) for each in noise)


def python_lines(noise: Sequence[OwnNoise | JointNoise]) -> str:
    """The same for Python."""
    entries = []
    for each in noise:
        if isinstance(each, OwnNoise):
            arguments = rounded(each.law)
            values = ", ".join(f"{key}={_python(value)}" for key, value in arguments.items())
            (declared,) = (law for law in LAWS if law.name == each.law.name)
            entries.append(f"    {each.name!r}: meseta.{declared.python}({values}),\n")
            continue
        law = each.law
        mean = f", mean={_python(_mean(law))}" if any(law.mean) else ""
        made = f"meseta.Normal(covariance={_python(_covariance(law))}{mean})"
        if not each.normal:
            made = f"meseta.Empirical({_python(law.rows)})"
        entries.append(f"    {law.names!r}: {made},\n")
    return "noise = {\n" + "".join(entries) + "}\n"


def rounded(law: FittedLaw) -> dict[str, Any]:
    """The arguments with as many decimals as their width is worth."""
    if law.width is None:
        return dict(law.arguments)
    decimals = DIGITS - 1 - math.floor(math.log10(law.width.value))
    return {
        key: value if isinstance(value, bool) or key == "df" else _cut(value, decimals)
        for key, value in law.arguments.items()
    }


def _cut(value: float, decimals: int) -> float:
    # beyond 300 decimals rounding is not defined, and not needed
    return round(value, decimals) if abs(decimals) < 300 else value


def _own(noise: OwnNoise) -> str:
    arguments = rounded(noise.law)
    if noise.law.name == "empirical" and noise.csv is not None:
        arguments = {"csv": noise.csv, **({"column": noise.column} if noise.column else {})}
    pairs = "".join(f", {key} = {_toml(value)}" for key, value in arguments.items())
    table = f'{{ law = "{noise.law.name}"{pairs} }}'
    return f"[parameters.{_key(noise.name)}]\nnoise = {table}\n"


def _joint(noise: JointNoise) -> str:
    law = noise.law
    lines = [f"parameters = {_toml(law.names)}"]
    if noise.normal:
        lines += ['law = "normal"', f"covariance = {_toml(_covariance(law))}"]
        lines += [f"mean = {_toml(_mean(law))}"] if any(law.mean) else []
    elif noise.csv is not None:
        lines += ['law = "empirical"', f"csv = {_toml(noise.csv)}"]
        lines += [f"columns = {_toml(noise.columns)}"]
    else:
        lines += ['law = "empirical"', f"rows = {_toml(law.rows)}"]
    return "[[noise]]\n" + "".join(f"{line}\n" for line in lines)


def _covariance(law: Correlated) -> list[list[float]]:
    """Rounded, unless the rounded one is no covariance any more."""
    cut = [[float(f"{value:.6g}") for value in row] for row in law.covariance]
    correlation = np.array(cut) / np.sqrt(np.outer(np.diag(cut), np.diag(cut)))
    positive = np.linalg.eigvalsh(correlation).min() > 0
    return cut if positive else [list(row) for row in law.covariance]


def _mean(law: Correlated) -> list[float]:
    return [float(f"{value:.4g}") for value in law.mean]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):  # JSON but for one character that TOML wants escaped as well
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


def _python(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_python, value)) + "]"
    return repr(value)
