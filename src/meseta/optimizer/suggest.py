"""One pure iteration in the unit cube: a posterior in, the next point out."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from meseta.acquisition.argmax import MaximizeInfo, maximize_acquisition
from meseta.acquisition.prepared import Info, Prepare, Prepared
from meseta.gp.fit import FitInfo
from meseta.gp.joint import JointPosterior
from meseta.space.domain import Domain, Held

AS_GOOD = math.log(0.95)  # a repeat that gains this share of the most is as good


class SuggestInfo(NamedTuple):
    """Everything behind a suggestion, for people and plots.

    A method without a model (sobol) has only None here.
    """

    fit: FitInfo | None = None
    acquisition: Prepared | None = None  # a function of rows of the unit cube
    recorded: Info | None = None  # by the method about itself, in the units of y
    smoothing_error: float | None = None  # of covariances of g, over the prior variance
    maximize: MaximizeInfo | None = None


def suggest(
    posterior: JointPosterior,
    domain: Domain,
    prepare: Prepare,
    stream: int,
    pending: Float[Tensor, "p d"] | None = None,
    held: Held | None = None,
    experiments: Domain | None = None,
) -> tuple[Float[Tensor, " d"], Prepared, MaximizeInfo]:
    """The point that a method would evaluate next; everything in the units of the posterior.

    Args:
        posterior: The posterior of f and g given the values so far.
        domain: The designs.
        prepare: The method, see `meseta.methods.prepare`.
        stream: Seeds everything random.
        pending: Points under evaluation. They count as observed, with their mean as their value.
        held: Columns that cannot be chosen, and what they are expected to be.
        experiments: What may be evaluated; None: designs only.
    """
    prepared = prepare_method(posterior, domain, prepare, stream, pending)
    x, info = maximize_prepared(prepared, posterior, experiments or domain, stream, held)
    return x, prepared, info


def prepare_method(
    posterior: JointPosterior,
    domain: Domain,
    prepare: Prepare,
    stream: int,
    pending: Float[Tensor, "p d"] | None = None,
) -> Prepared:
    """The acquisition function of a method, pending points included."""
    if pending is not None and len(pending):
        posterior = posterior.with_observations(pending)
    return prepare(posterior, domain, torch.Generator().manual_seed(stream))


def maximize_prepared(
    prepared: Prepared,
    posterior: JointPosterior,
    domain: Domain,
    stream: int,
    held: Held | None = None,
) -> tuple[Float[Tensor, " d"], MaximizeInfo]:
    """The point where the acquisition function of a method is highest."""
    x, info = maximize_acquisition(
        prepared.value if held is None else lambda x: prepared.value(held.put(x)),
        domain,
        torch.Generator().manual_seed(stream),
        prepared.starts,
        posterior.kernel.kernel.lengthscale,
    )
    return x if held is None else held.put(x), info


@torch.no_grad()
def repeated(
    prepared: Prepared,
    x: Float[Tensor, " d"],
    known: Float[Tensor, "n d"],
    held: Held | None = None,
) -> Float[Tensor, " d"]:
    """One of the known points in place of x, if it is worth about as much: that is a repeat.

    Acquisition functions are logarithms; those that are not ask for repeats by chance only.
    """
    known = known.unique(dim=0) if held is None else held.put(known).unique(dim=0)
    values = prepared.value(known)
    best = int(values.argmax())
    return known[best] if values[best] >= prepared.value(x[None])[0] + AS_GOOD else x


def stream_of(seed: int, number: int) -> int:
    """The seed of one iteration, which draws from a stream of its own."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)
