"""The box of designs."""

import torch
from jaxtyping import Float
from torch import Tensor


def checked_bounds(bounds: Tensor, dimension: int) -> Float[Tensor, "2 d"]:
    """The lower and upper ends of the box in double precision, refused where they make no box."""
    bounds = torch.as_tensor(bounds, dtype=torch.double)
    if bounds.shape != (2, dimension):
        raise ValueError(
            f"x has {dimension} parameters, so bounds must have shape (2, {dimension}), lower and "
            f"upper ends of the box, got {tuple(bounds.shape)}"
        )
    if not (bounds.isfinite().all() and (bounds[0] < bounds[1]).all()):
        raise ValueError(
            f"every lower bound must be finite and below its upper bound, got {bounds.tolist()}"
        )
    return bounds
