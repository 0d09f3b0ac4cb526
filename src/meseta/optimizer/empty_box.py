"""The largest box around a point that has none of some other points inside."""

import heapq
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

# Boxes that are looked at before the rest is left to the greedy way, over the squared dimension.
POPPED = 9000
LEAST = 1e-12  # a width that counts as none

Sides = Float64[np.ndarray, "2 d"]  # low and high


class Box(NamedTuple):
    low: Float[Tensor, " d"]
    high: Float[Tensor, " d"]

    @property
    def volume(self) -> float:
        return float((self.high - self.low).prod())


def largest_box(center: Float[Tensor, " d"], points: Float[Tensor, "m d"], within: Box) -> Box:
    """The box of the largest volume that holds the center and no point inside.

    A point on a side is outside, unless the center lies on that side, too: no cut is between them.

    Each point has to be cut off by one side, on its side of the center. Boxes are cut for one point
    after the other, the largest first: the first one that is empty is the largest of all. After
    many of them the best cut is taken each time, and the box is one of the largest.
    """
    middle, whole = center.numpy(), torch.stack(within).numpy()
    left = _nearest(middle, points.numpy())
    if (left == middle).all(-1).any():
        return Box(center, center)
    queue: list[tuple[float, int, Sides]] = [(-_size(whole), 0, whole)]
    known, most = {whole.tobytes()}, POPPED // len(middle) ** 2
    for number in range(most + len(left) + 1):
        _, _, box = heapq.heappop(queue)
        inside = left[_between(box, middle, left).all(-1)]
        if not len(inside):
            break
        if number >= most:
            queue.clear()
        for each in _cut(box, middle, _hardest(box, middle, inside)):
            if each.tobytes() not in known or not queue:
                known.add(each.tobytes())
                heapq.heappush(queue, (-_size(each), len(known), each))
            if number >= most:
                break
    box = _grown(box, middle, left, whole)
    return Box(torch.from_numpy(box[0].copy()), torch.from_numpy(box[1].copy()))


def _between(
    box: Sides, center: Float64[np.ndarray, " d"], points: Float64[np.ndarray, "m d"]
) -> Bool[np.ndarray, "m d"]:
    """Whether no side is between a point and the center, by dimension."""
    return (points == center) | ((points > box[0]) & (points < box[1]))


def _grown(
    box: Sides,
    center: Float64[np.ndarray, " d"],
    points: Float64[np.ndarray, "m d"],
    whole: Sides,
) -> Sides:
    """With every side, one after the other, as far out as the points let it."""
    box = box.copy()
    for i in np.argsort(box[1] - box[0]):
        others = np.arange(box.shape[1]) != i
        beside = _between(box, center, points)[:, others].all(-1)
        at = points[beside, i]
        box[0, i] = max([whole[0, i], *at[at <= box[0, i]]])
        box[1, i] = min([whole[1, i], *at[at >= box[1, i]]])
    return box


def _size(box: Sides) -> float:
    return float(np.log(np.maximum(box[1] - box[0], LEAST)).sum())


def _nearest(
    center: Float64[np.ndarray, " d"], points: Float64[np.ndarray, "m d"]
) -> Float64[np.ndarray, "k d"]:
    """Without those that lie behind another one: what cuts that off cuts them off as well."""
    left = (points - center)[np.argsort(np.abs(points - center).sum(-1), kind="stable")]
    place = 0
    while place < len(left):
        near = left[place]
        behind = ((left * near > 0) | (near == 0)) & (np.abs(left) >= np.abs(near))
        behind = behind.all(-1)
        behind[: place + 1] = False
        left = left[~behind]
        place += 1
    return center + left


def _hardest(
    box: Sides, center: Float64[np.ndarray, " d"], inside: Float64[np.ndarray, "k d"]
) -> Float64[np.ndarray, " d"]:
    """The point whose best cut leaves least."""
    left = np.where(inside > center, inside - box[0], box[1] - inside)
    share = np.where(inside == center, 0.0, left / np.maximum(box[1] - box[0], LEAST))
    return inside[share.max(-1).argmin()]


def _cut(
    box: Sides, center: Float64[np.ndarray, " d"], point: Float64[np.ndarray, " d"]
) -> list[Sides]:
    """The boxes that one side each cuts off from a point, the largest first."""
    found = []
    for i in np.flatnonzero(point != center):
        each = box.copy()
        each[int(point[i] > center[i]), i] = point[i]
        found.append(each)
    return sorted(found, key=_size, reverse=True)
