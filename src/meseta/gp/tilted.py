"""Weighted sums of f near a design: how a measure of f(x + xi) moves with f, to first order."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from meseta.gp.joint import JointPosterior
from meseta.gp.observed import Observed


@dataclass(frozen=True, eq=False)
class Tilted:
    """What moves a measure at each of A, to first order: sum_j w_j f(z_j), and g if `with_g`."""

    A: Float[Tensor, "p d"]
    z: Float[Tensor, "p m d"]
    w: Float[Tensor, "p m"]
    with_g: bool

    def k(self, observed: Observed) -> Float[Tensor, "p n"]:
        """Prior covariance of that with what is observed."""
        p, m, _ = self.z.shape
        k = (self.w[:, None] @ observed.k_f(self.z.flatten(0, 1)).view(p, m, -1))[:, 0]
        return k + observed.k_g(self.A) if self.with_g else k


def heaviest(
    z: Float[Tensor, "b m d"], w: Float[Tensor, "b m"], num: int
) -> tuple[Float[Tensor, "b k d"], Float[Tensor, "b k"]]:
    """The places with the largest weights, which then stand for the others, too."""
    if w.shape[-1] <= num:
        return z, w
    kept = w.abs().topk(num, dim=-1).indices
    some = w.gather(-1, kept)
    share = some.abs().sum(-1) / w.abs().sum(-1).clamp_min(1e-300)
    places = z.gather(1, kept[..., None].expand(-1, -1, z.shape[-1]))
    return places, some / share.clamp_min(1e-300)[:, None]


def variance_of_sum(
    posterior: JointPosterior, z: Float[Tensor, "b m d"], w: Float[Tensor, "b m"]
) -> Float[Tensor, " b"]:
    """Var[sum_j w_j f(z_j)] given the data."""
    weighted = w[:, None] @ posterior.kernel.k_f(z, z) @ w[:, :, None]
    known = posterior.whiten(w[:, None] @ posterior.k_f_data(z))
    most = posterior.kernel.prior_variance
    rest = weighted[:, 0, 0] - known[:, 0].square().sum(-1)
    return posterior.clamped.sound("Var[sum w f]", rest, most)
