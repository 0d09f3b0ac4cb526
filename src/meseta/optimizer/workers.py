"""Who evaluates: this process, or others beside it."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from meseta.optimizer.called import Called, Objective, called
from meseta.optimizer.outcomes import Outcomes
from meseta.space.parameter import Design


class Job(NamedTuple):
    """A design that is to be evaluated."""

    number: int  # of its trial
    params: Design
    lost: int = 0  # workers that were lost at it
    alone: bool = False  # nothing else is evaluated meanwhile: a loss is then its own


class Workers(Protocol):
    @property
    def beside(self) -> bool:
        """Whether they evaluate while we do something else."""
        ...

    @property
    def free(self) -> int:
        """The number of designs that may begin."""
        ...

    @property
    def busy(self) -> bool:
        """Whether an evaluation has begun that was not given by `ended` yet."""
        ...

    def start(self) -> None: ...

    def begin(self, job: Job) -> None: ...

    def ended(self) -> Iterator[tuple[Job, Called]]:
        """Wait, and give what has ended; each is done with when the next is asked for.

        Who is interrupted before is given it again.
        """
        ...

    def stop(self) -> int:
        """Begin nothing more, and take back what has not begun; the number that still run."""
        ...

    def close(self, *, wait: bool) -> None: ...


class Here:
    """This process: one evaluation after the other, each when its end is waited for."""

    beside = False

    def __init__(self, f: Objective, outcomes: Outcomes) -> None:
        self._f, self._outcomes = f, outcomes
        self._job: Job | None = None
        self._called: Called | None = None

    @property
    def free(self) -> int:
        return 1 if self._job is None else 0

    @property
    def busy(self) -> bool:
        return self._called is not None

    def start(self) -> None:
        pass

    def begin(self, job: Job) -> None:
        self._job = job

    def ended(self) -> Iterator[tuple[Job, Called]]:
        if self._job is not None:
            self._called = self._called or called(self._f, self._job.params, self._outcomes)
            yield self._job, self._called
        self._job = self._called = None

    def stop(self) -> int:
        return 0

    def close(self, *, wait: bool) -> None:
        pass
