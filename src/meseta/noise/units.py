"""Noise laws in other units of x."""

from jaxtyping import Float
from torch import Tensor

from meseta.noise.independent import Independent
from meseta.noise.joint import Joint
from meseta.noise.law import NoiseLaw
from meseta.noise.placed import Placed
from meseta.noise.substitution import Substituted


def in_units(law: NoiseLaw, offset: Float[Tensor, " d"], width: Float[Tensor, " d"]) -> NoiseLaw:
    """The law for (x - offset) / width in place of x.

    A perturbation that is added to x only scales; one that depends on x has to know where x is.
    """
    if isinstance(law, Placed):
        return law.in_units(float(offset), float(width))
    if isinstance(law, Substituted):
        return law.in_units(offset, width)
    if isinstance(law, Joint):
        own = in_units(law.own, offset, width)
        parts = [
            (dims, in_units(part, offset[list(dims)], width[list(dims)]))
            for dims, part in law.parts
        ]
        return Joint(own, parts)
    if isinstance(law, Independent) and any(isinstance(part, Placed) for part in law.laws):
        columns = zip(law.laws, offset.split(1), width.split(1), strict=True)
        return Independent([in_units(*column) for column in columns])
    return law.scaled(1 / width)
