"""Finished runs on disk: JSON lines, one file for each problem and method.

Only one process writes. A line is written at once and synced, so that a kill tears at most the
last line of a file; readers ignore it, and the next writer removes it. Packed lines stand in a
file beside theirs, METHOD.jsonl.gz, see `compression`.
"""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import Float64

from meseta.bench.job import Job
from meseta.bench.runs import AnyRecord, R

DIGITS = 9  # enough for regrets of 1e-9 beside values of 1, and 100 runs of a problem in 20 MB
COMPUTE = ("fit", "suggest", "recommend")  # what a method costs, whatever f does
PARTS = (*COMPUTE, "evaluate")


@dataclass(frozen=True, eq=False)
class RunRecord:
    """A run and its results; values in the problem's own units and direction.

    `recommended` and what is said about it start after the initial design, so a run of n
    evaluations that started with n_0 has n - n_0 + 1 of them. Those of a failed run end early.
    """

    job: Job
    state: Literal["complete", "failed"]
    x: Float64[np.ndarray, "n d"]
    y: Float64[np.ndarray, " n"]
    recommended: Float64[np.ndarray, "m d"]
    value: Float64[np.ndarray, " m"]  # g at the recommended design
    regret: Float64[np.ndarray, " m"]  # |g(x_n) - g*|
    distance: Float64[np.ndarray, " m"]  # |x_n - x*|
    distance_in_box: Float64[np.ndarray, " m"]  # the same in shares of the box's sides
    seconds: dict[str, Float64[np.ndarray, "..."]] = field(default_factory=dict)
    warnings: int = 0
    messages: tuple[str, ...] = ()  # the first few of the warnings, each once
    error: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        return float(sum(part.sum() for part in self.seconds.values()))

    @property
    def reason(self) -> str:
        """The reason of the failure: the last line of its traceback."""
        return (self.error or "").strip().rpartition("\n")[2]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.job.to_json(),
            "state": self.state,
            "error": self.error,
            **{name: rounded(getattr(self, name)) for name in ARRAYS},
            "seconds": {part: rounded(values, 4) for part, values in self.seconds.items()},
            "warnings": self.warnings,
            "messages": list(self.messages),
            "settings": self.settings,
            "versions": self.versions,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "RunRecord":
        dimension = len(values["x"][0]) if values["x"] else 1
        arrays: dict[str, Any] = {
            name: np.asarray(values[name], dtype=np.float64) for name in ARRAYS
        }
        for name in POINTS:
            arrays[name] = arrays[name].reshape(-1, dimension)
        seconds = {part: np.asarray(v, dtype=np.float64) for part, v in values["seconds"].items()}
        return cls(
            job=Job.from_json(values),
            state=values["state"],
            error=values["error"],
            seconds=seconds,
            warnings=values["warnings"],
            messages=tuple(values["messages"]),
            settings=values["settings"],
            versions=values["versions"],
            **arrays,
        )


def failed(job: Job, error: str, versions: dict[str, str] | None = None) -> RunRecord:
    """The record of a failed run that left nothing but the reason."""
    none: dict[str, Any] = {name: np.empty((0, 1) if name in POINTS else 0) for name in ARRAYS}
    return RunRecord(job=job, state="failed", error=error, versions=versions or {}, **none)


POINTS = ("x", "recommended")
ARRAYS = (*POINTS, "y", "value", "regret", "distance", "distance_in_box")


class Line(NamedTuple):
    """A record as it stands in its file, and what it says."""

    text: bytes
    record: dict[str, Any]
    path: Path
    number: int


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file; a torn last line is left out, any other damage is an error."""
    return (line.record for line in whole_lines(path))


def whole_lines(path: Path) -> Iterator[Line]:
    """Packed lines, then those appended since; a kill while packing leaves some in both files."""
    # in this order: what is packed meanwhile comes twice instead of never
    plain, packed = _bytes(path) or b"", _bytes(packed_path(path))
    if packed is not None:
        yield from _parsed(packed_path(path), _unpacked(packed_path(path), packed))
    whole, newline, last = plain.rpartition(b"\n")
    yield from _parsed(path, whole + newline)
    if _is_record(last):
        yield Line(last, json.loads(last), path, whole.count(b"\n") + 1)


def packed_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Append a whole line or nothing; it is on the disk when this returns."""
    line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    repair(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        before = os.fstat(file).st_size
        if os.write(file, line) < len(line):
            os.ftruncate(file, before)
            raise OSError(
                f"{path} could not be written, is the disk full? The run is not lost "
                "but to be repeated: free some space and start again"
            )
        os.fsync(file)
    finally:
        os.close(file)


def repair(path: Path) -> None:
    """Remove a torn last line; one that lacks nothing but its end is completed."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if not size or _last_byte(file) == b"\n":
            return
        file.seek(0)
        last = file.read().rpartition(b"\n")[2]
        if _is_record(last):
            file.write(b"\n")
        else:
            file.truncate(size - len(last))


def path_of(folder: Path, problem: str, label: str) -> Path:
    return folder / "runs" / problem / f"{label.replace(':', ',')}.jsonl"


def read_runs(
    folder: Path, problem: str, label: str, read: Callable[[dict[str, Any]], R]
) -> dict[Any, R]:
    """The record of every run of a method on a problem; a complete one counts before a failed."""
    runs: dict[Any, R] = {}
    path = path_of(folder, problem, label)
    for line in whole_lines(path):
        try:
            record = read(line.record)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"line {line.number} of {line.path} is no record of a run ({error!r}); delete it: "
                "the run will be repeated"
            ) from error
        known = runs.get(record.job)
        if known is None or known.state == "failed":
            runs[record.job] = record
    return runs


def append_run(folder: Path, record: AnyRecord) -> None:
    append_line(path_of(folder, record.job.problem, record.job.label), record.to_json())


class Writing:
    """The right to write below a folder, for one process at a time; ends with the process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._lock = folder, FileLock(folder / ".lock", timeout=0)

    def __enter__(self) -> "Writing":
        try:
            self._lock.acquire()
        except Timeout:
            raise RuntimeError(
                f"another process writes to {self.folder}; wait for it, or choose another folder"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()


def rounded(values: Float64[np.ndarray, "..."], digits: int = DIGITS) -> Any:
    if values.ndim > 1:
        return [rounded(row, digits) for row in values]
    return [float(f"{value:.{digits}g}") for value in values.tolist()]


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        if not content:
            raise EOFError("it is empty")
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is damaged ({error}); put back a copy, or delete it: its runs will be repeated"
        ) from error


def _parsed(path: Path, content: bytes) -> Iterator[Line]:
    for number, text in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            yield Line(text, json.loads(text), path, number)
        except ValueError as error:
            raise ValueError(
                f"line {number} of {path} is no record ({error}); if you know why, delete it: "
                "the run will be repeated"
            ) from error


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _last_byte(file: Any) -> bytes:
    file.seek(-1, os.SEEK_END)
    return bytes(file.read(1))
