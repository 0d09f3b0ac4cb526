"""Places a noise law on the range of its parameter."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from meseta.noise.independent import Independent
from meseta.noise.joint import Joint
from meseta.noise.law import NoiseLaw, OneDimensional, depends_on_x
from meseta.noise.normal import Normal
from meseta.noise.placed import LEAST_INSIDE, Edge, Kind, Placed

# The share of the mass that may fall below 0 on a logarithmic scale; it is cut off.
NEGLIGIBLE = 1e-6


def placed(
    law: NoiseLaw,
    low: float,
    high: float,
    *,
    what: str = "the noise",
    edge: Edge = "allow",
    log: bool = False,
) -> NoiseLaw:
    """The noise of one parameter; as Placed where it depends on x, on an edge, or on a scale.

    With `log` the parameter itself is meant by low, high and the law, its logarithm by x.
    """
    if isinstance(law, Placed) or not (law.mean.any() or law.covariance_matrix.any()):
        return law
    kind = _kind(law)
    if edge == "allow" and kind == "shift" and not log:
        return law
    if edge == "allow" and kind == "multiply" and log:
        return Normal(law.covariance_matrix.sqrt().reshape(-1))
    if not isinstance(law, OneDimensional):
        raise ValueError(
            f"{what} must be a law with a density or with point masses to be placed at an edge or "
            f"on a scale, got {law!r}; give the parameter one law of its own"
        )
    if kind == "multiply" and not low > 0:
        raise ValueError(
            f"{what} multiplies the parameter, so its range must lie above 0, got ({low}, {high}); "
            f"a relative error, Normal(..., relative=True), allows other signs"
        )
    if log and edge == "allow":
        _check_positive(what, law, kind, low)
    width = getattr(law, "width", None)
    if width is not None:
        _check_width(what, width, low, high)
    found = Placed(law, kind, low, high, edge, width, log)
    if edge == "truncate":
        _check_inside(what, found)
    return found


def environment(law: NoiseLaw, low: float, high: float, *, log: bool = False) -> Placed:
    """A quantity that varies by itself, whatever was tried."""
    if not isinstance(law, OneDimensional) or depends_on_x(law):
        raise ValueError(
            f"the law of an Environment must be that of the quantity itself, such as "
            f"Normal(5.0, mean=20.0), got {law!r}"
        )
    if log and not law.interval(NEGLIGIBLE)[0] > 0:
        raise ValueError(
            f"the scale is logarithmic, but the Environment {law!r} has values below 0; "
            "truncate it, or leave log out"
        )
    return Placed(law, "replace", low, high, log=log)


def resolved(law: NoiseLaw, low: Float[Tensor, " d"], high: Float[Tensor, " d"]) -> NoiseLaw:
    """A law whose width depends on x, placed on the box from low to high; others as they are."""
    if isinstance(law, Joint):
        return Joint(resolved(law.own, low, high), law.parts)
    if not law.independent:
        check_joint("the noise", law)
        return law
    if not any(depends_on_x(marginal) for marginal in law.marginals):
        return law
    ends = zip(law.marginals, low.tolist(), high.tolist(), strict=True)
    return Independent([placed(*column) for column in ends])


def check_joint(what: str, law: NoiseLaw) -> None:
    if depends_on_x(law):
        raise ValueError(
            f"{what} moves several parameters together, so it can't depend on their values, got "
            f"{law!r}; search on a logarithmic scale, or give each parameter its own law"
        )


def _kind(law: NoiseLaw) -> Kind:
    if getattr(law, "relative", False):
        return "relative"
    if getattr(law, "multiplicative", False):
        return "multiply"
    return "shift" if getattr(law, "width", None) is None else "width"


def _check_positive(what: str, law: OneDimensional, kind: Kind, low: float) -> None:
    """On a logarithmic scale nothing may end up at 0 or below."""
    lowest = law.interval(NEGLIGIBLE)[0]
    width = getattr(law, "width", None)
    end = {"shift": low + lowest, "relative": 1 + lowest, "multiply": 1.0}.get(
        kind, low + (0.0 if width is None else float(width(low))) * lowest
    )
    if not end > 0:
        raise ValueError(
            f"the scale is logarithmic, but {what} leads from the lower end {low:g} to values "
            f"below 0, got {law!r}; write LogNormal(...) or relative=True for an error in "
            "proportion, edge='clip' if values stop at the lower end, or leave log out"
        )


def _check_inside(what: str, law: Placed) -> None:
    """From every design enough of the noise must stay within a truncated range."""
    low, high = law.from_raw(torch.tensor([law.low, law.high], dtype=torch.double)).tolist()
    x = torch.linspace(low, high, 129, dtype=torch.double)
    inside = law.inside(x)
    if bool((inside < LEAST_INSIDE).any()):
        worst = int(inside.argmin())
        raise ValueError(
            f"{what} with edge='truncate' keeps only what stays within {law.low:g} and "
            f"{law.high:g}, but from {float(law.to_raw(x[worst])):g} only "
            f"{float(inside[worst]):.2g} of {law.law!r} does; write edge='clip' if values stop at "
            "the end, or check the width and the mean of the law"
        )


def _check_width(what: str, width: Callable[[float], object], low: float, high: float) -> None:
    for x in torch.linspace(low, high, 33, dtype=torch.double).tolist():
        value = width(x)
        if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise ValueError(
                f"{what} has a width that is a function of the parameter's value; it must return a "
                f"finite number that is not negative, but at {x:g} it returned {value!r}"
            )
