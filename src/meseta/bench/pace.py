"""The time that a campaign will still take."""

from collections.abc import Iterable

from meseta.bench.runs import AnyJob, AnyRecord


class Pace:
    """The seconds of runs so far, by problem and method, to predict those ahead."""

    def __init__(self, records: Iterable[AnyRecord] = ()) -> None:
        self._seconds: dict[tuple[str, str], list[float]] = {}
        for record in records:
            self.add(record)

    def add(self, record: AnyRecord) -> None:
        if record.state == "complete":
            per_evaluation = record.duration / record.job.evaluations
            self._seconds.setdefault(_kind(record.job), []).append(per_evaluation)

    def seconds(self, jobs: Iterable[AnyJob]) -> float | None:
        """The expected time of these jobs, one after another; None: no run is known yet."""
        if not self._seconds:
            return None
        means = {kind: sum(values) / len(values) for kind, values in self._seconds.items()}
        usual = sum(means.values()) / len(means)
        return sum((job.evaluations * means.get(_kind(job), usual) for job in jobs), 0.0)


def spoken(seconds: float | None) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _kind(job: AnyJob) -> tuple[str, str]:
    return job.problem, job.label
