"""Trials as rows of the unit cube, each computed once."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.optimizer.record import Trial
from meseta.space.recording import check_recordable
from meseta.space.space import Design, Space


class Rows:
    """A memory of the rows of trials, so that a step does not convert all of them again.

    A row belongs to the params that a trial has; a trial that was carried out otherwise gets a new
    one.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._params: list[Design | None] = []
        self._rows = torch.empty(0, space.num_columns, dtype=torch.double)

    def of(self, trials: Sequence[Trial]) -> Float[Tensor, "n d"]:
        """One row for each of the trials, which come in the order of their numbers."""
        check_recordable()
        self._make_room(trials[-1].number + 1 if trials else 0)
        known = self._params
        for trial in [trial for trial in trials if known[trial.number] is not trial.params]:
            row = self.space.to_cube(trial.params)
            known[trial.number], self._rows[trial.number] = trial.params, row
        return self._rows[[trial.number for trial in trials]]

    def _make_room(self, num: int) -> None:
        self._params += [None] * (num - len(self._params))
        if num > len(self._rows):
            self._rows = _grown(self._rows, num)


class Distinct:
    """Rows that differ, to which more are added one at a time."""

    def __init__(self, rows: Float[Tensor, "n d"]) -> None:
        self._rows = rows.unique(dim=0)
        self._num = len(self._rows)

    @property
    def rows(self) -> Float[Tensor, "n d"]:
        return self._rows[: self._num]

    def add(self, row: Float[Tensor, " d"]) -> None:
        if (self.rows == row).all(-1).any():
            return
        if self._num == len(self._rows):
            self._rows = _grown(self._rows, self._num + 1)
        self._rows[self._num] = row
        self._num += 1


def _grown(rows: Float[Tensor, "n d"], num: int) -> Float[Tensor, "m d"]:
    """With room for twice as many as needed, so that rows are seldom copied."""
    grown = torch.empty(2 * num, rows.shape[1], dtype=rows.dtype)
    grown[: len(rows)] = rows
    return grown
