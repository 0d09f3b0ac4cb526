"""What a campaign needs to know of jobs, records and plans, whoever plays."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from jaxtyping import Float64


class AnyJob(Protocol):
    """A run to be done. Jobs are values: equal ones are the same run."""

    @property
    def problem(self) -> str: ...

    @property
    def label(self) -> str:
        """Who does the run: with the problem the name of its file of records."""
        ...

    @property
    def seed(self) -> int: ...

    @property
    def evaluations(self) -> int: ...

    def __hash__(self) -> int: ...


class Ended(Protocol):
    """A run and how well it went."""

    @property
    def job(self) -> AnyJob: ...

    @property
    def state(self) -> Literal["complete", "failed"]: ...

    @property
    def regret(self) -> Float64[np.ndarray, " m"]: ...


class AnyRecord(Ended, Protocol):
    """A run that can be stored."""

    @property
    def job(self) -> Any: ...

    @property
    def duration(self) -> float: ...

    @property
    def reason(self) -> str: ...

    def to_json(self) -> dict[str, Any]: ...


J = TypeVar("J", bound=AnyJob)
R = TypeVar("R", bound=AnyRecord)
E = TypeVar("E", bound=Ended)
R_co = TypeVar("R_co", bound=AnyRecord, covariant=True)
J_co = TypeVar("J_co", bound=AnyJob, covariant=True)


class AnyPlan(Protocol[J_co, R_co]):
    """Jobs in the order in which they are to be done, and how their records are read."""

    @property
    def name(self) -> str: ...

    def jobs(self) -> Sequence[J_co]: ...

    def read(self, line: dict[str, Any]) -> R_co: ...
