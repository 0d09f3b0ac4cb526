"""Mean and standard deviation of the noise at a design."""

from jaxtyping import Float
from torch import Tensor

from meseta.noise.joint import Joint
from meseta.noise.law import NoiseLaw
from meseta.noise.placed import Placed


def moments_at(
    law: NoiseLaw, x: Float[Tensor, "m d"]
) -> tuple[Float[Tensor, "m d"], Float[Tensor, "m d"]]:
    """Mean and standard deviation of z(x) - x in each coordinate, for each x."""
    mean = law.mean.expand(x.shape).clone()
    variance = law.covariance_matrix.diagonal().expand(x.shape).clone()
    own = law.own if isinstance(law, Joint) else law
    for i, marginal in enumerate(own.marginals if own.independent else ()):
        if isinstance(marginal, Placed):
            z, weights = marginal.rule(x[:, i], 16)
            centre = (weights * z).sum(-1, keepdim=True)
            mean[:, i] = centre[:, 0] - x[:, i]
            variance[:, i] = (weights * (z - centre).square()).sum(-1)
    return mean, variance.clamp_min(0).sqrt()
