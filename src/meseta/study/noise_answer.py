"""What a table of measured deviations says about the noise, for people and for programs."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from meseta.noise.correlated import Correlated, correlated
from meseta.noise.fitting import FittedLaw, NoiseFit, fit_noise
from meseta.study.deviation_file import DeviationFile, MeasuredColumn
from meseta.study.show import table
from meseta.study.toml.noise_lines import JointNoise, OwnNoise, python_lines, toml_lines

MOST_SHOWN = 6  # laws of a table


@dataclass(frozen=True)
class NoiseAnswer:
    """The fits of all columns, and those that go together."""

    file: DeviationFile
    fits: Mapping[str, NoiseFit]
    without: Mapping[str, str]  # why others have none
    together: tuple[Correlated, ...]

    @property
    def lines(self) -> list[OwnNoise | JointNoise]:
        """The noise to take; parameters that go together have none of their own."""
        joint = {name for each in self.together for name in each.names}
        own = [self._own(each) for each in self.file.columns if each.name in self.fits]
        return [
            *(each for each in own if each.name not in joint),
            *(self._joint(each) for each in self.together),
        ]

    def _own(self, column: MeasuredColumn) -> OwnNoise:
        title = column.title if self.file.headed else None
        return OwnNoise(column.name, self.fits[column.name].best, self._csv(column), title)

    def _joint(self, law: Correlated) -> JointNoise:
        columns = [each for each in self.file.columns if each.name in law.names]
        usable = all(self._csv(each) for each in columns)
        return JointNoise(
            law,
            all(_normal(self.fits[name]) for name in law.names),
            self.file.path.as_posix() if usable else None,
            tuple(each.title for each in columns),
        )

    def _csv(self, column: MeasuredColumn) -> str | None:
        """The file, where a study file can read the deviations from it as they are."""
        usable = column.planned is None and bool(column.there.all())
        return self.file.path.as_posix() if usable else None


def _normal(fit: NoiseFit) -> bool:
    return any(law.fits for law in fit.laws if law.name == "normal" and not law.relative)


def noise_answer(file: DeviationFile) -> NoiseAnswer:
    """Laws of every column; a column without scatter has none, and says so."""
    fits: dict[str, NoiseFit] = {}
    without: dict[str, str] = {}
    for column in file.columns:
        there = column.there
        planned = None if column.planned is None else column.planned[there]
        try:
            fits[column.name] = fit_noise(column.executed[there], planned)
        except ValueError as error:
            without[column.name] = str(error)
    additive = {
        each.name: each.deviations
        for each in file.columns
        if each.name in fits and not _of_the_value(fits[each.name].best)
    }
    return NoiseAnswer(file, fits, without, tuple(correlated(additive)))


def _of_the_value(law: FittedLaw) -> bool:
    return law.relative or law.name == "log-normal"


def in_words(answer: NoiseAnswer) -> str:
    """Everything that people should know, a paragraph for each column."""
    parts = []
    for column in answer.file.columns:
        label = f"{column.name} [{column.unit}]" if column.unit else column.name
        if column.name in answer.without:
            parts.append(f"{label}: {answer.without[column.name]}\n")
            continue
        fit = answer.fits[column.name]
        low, high = fit.mean_interval
        lines = [
            f"{label}: {len(fit.values)} values, mean {fit.mean:.3g} ({low:.3g} to {high:.3g}), "
            f"standard deviation {fit.std:.4g}\n",
            _laws(fit),
            f"{fit.verdict[0].upper()}{fit.verdict[1:]}.\n",
            *(f"Note: {remark}.\n" for remark in fit.remarks),
        ]
        parts.append("".join(lines))
    for each in answer.together:
        parts.append(_together(each, answer))
    return "\n".join(parts)


def _laws(fit: NoiseFit) -> str:
    smallest = min(each.aicc for each in fit.laws)
    rows = [
        [
            law.title,
            "" if law.width is None else law.width.number,
            f"{'yes' if law.fits else 'no'} (p = {law.p_value:.2g})",
            f"{law.aicc - smallest:.1f}",
        ]
        for law in fit.laws[:MOST_SHOWN]
    ]
    return table(["law", "width (95 %)", "fits", "+AICc"], rows)


def _together(each: Correlated, answer: NoiseAnswer) -> str:
    names = ", ".join(each.names)
    strongest = max(abs(value) for i, row in enumerate(each.correlation) for value in row[:i])
    law = "normal" if all(_normal(answer.fits[name]) for name in each.names) else "empirical"
    return (
        f"{names}: deviations go together (correlation up to {strongest:.2f}, {each.count} rows): "
        f"one joint law, {law}, in place of one for each.\n"
    )


def plain(answer: NoiseAnswer) -> dict[str, Any]:
    """The same for programs; numbers that are not finite are None."""
    units = {each.name: each.unit for each in answer.file.columns}
    return _finite(
        {
            "columns": {
                name: {
                    "unit": units[name],
                    "count": len(fit.values),
                    "mean": fit.mean,
                    "mean_interval": fit.mean_interval,
                    "std": fit.std,
                    "best": _law(fit.best),
                    "laws": [_law(each) for each in fit.laws],
                    "verdict": fit.verdict,
                    "remarks": fit.remarks,
                }
                for name, fit in answer.fits.items()
            },
            "without": dict(answer.without),
            "together": [
                {k: v for k, v in asdict(each).items() if k != "rows"} for each in answer.together
            ],
            "notes": answer.file.notes,
            "toml": toml_lines(answer.lines),
            "python": python_lines(answer.lines),
        }
    )


def _law(law: FittedLaw) -> dict[str, Any]:
    return {
        "law": law.name,
        "arguments": dict(law.arguments),
        "width": None if law.width is None else asdict(law.width),
        "fits": law.fits,
        "p_value": law.p_value,
        "aicc": law.aicc,
        "bic": law.bic,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
