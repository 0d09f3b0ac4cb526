"""The law of xi for named parameters: one law each, what several share, one for all, or none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from meseta.boundary import unknown
from meseta.noise import Common, NoiseLaw, Normal
from meseta.noise.joint import joint
from meseta.noise.scipy_law import LawLike, read_law
from meseta.space import Space

WIDEST = 1e100  # in widths of the range

Names = tuple[str, ...]

if TYPE_CHECKING:
    NamedNoise = (
        LawLike
        | Mapping[str, LawLike]
        | Mapping[Names, LawLike]
        | Mapping[str | Names, LawLike]
        | None
    )
else:  # at run time it is read by hand, so that a mistake is named
    NamedNoise = object


def read_noise(noise: NamedNoise, space: Space) -> NoiseLaw:
    """The joint law of all parameters, in the order of the space and in its units.

    A dict names the parameters that are perturbed, each with a law of its own; the others are
    not. A tuple of names has a joint law of these parameters:

        {"x": Normal(0.1), ("x", "y"): Common(Uniform(0.2)), ("u", "v"): Normal(covariance=...)}

    A parameter with a law of its own may be in one tuple as well: both contributions add up. A
    single law holds for all parameters. None: nothing is perturbed, and g = f. Frozen
    distributions of scipy.stats are laws.
    """
    if noise is None:
        noise = {}
    if not isinstance(noise, Mapping):
        return _fitting(read_law("noise", noise).in_dimension(space.dimension), space)
    laws: list[NoiseLaw] = [Normal(0.0)] * space.dimension
    parts = []
    seen: dict[str, Names] = {}
    for key, law in noise.items():
        names = key if isinstance(key, tuple) else (key,)
        _check_names(names, space)
        if not isinstance(key, tuple):
            laws[space.names.index(key)] = _read_marginal(key, law)
            continue
        _check_apart(names, seen)
        dims = tuple(space.names.index(name) for name in names)
        parts.append((dims, _read_joint(names, law)))
    return _fitting(joint(laws, parts), space)


def _check_names(names: tuple[object, ...], space: Space) -> None:
    for name in names:
        if name not in space.names:
            raise ValueError(
                f"noise for an unknown parameter: {unknown('parameter', name, space.names)}"
            )


def _check_apart(names: Names, seen: dict[str, Names]) -> None:
    """No parameter twice in the tuples; remembers those of this one."""
    if not names:
        raise ValueError("noise for no parameter: a tuple must name at least one, got ()")
    for name in names:
        if name in seen:
            where = f"both {seen[name]} and {names}" if seen[name] != names else f"{names} twice"
            raise ValueError(
                f"{name!r} is in {where}; name each parameter in one tuple at most: "
                "put parameters that share something into one, with one joint law"
            )
        seen[name] = names


def _fitting(law: NoiseLaw, space: Space) -> NoiseLaw:
    """Refuse noise whose width, in shares of the ranges, is beyond floating point."""
    low, high = space.bounds
    share = law.covariance_matrix.diagonal().sqrt() / (high - low)
    for name, value in zip(space.names, share.tolist(), strict=True):
        if not value < WIDEST:
            raise ValueError(
                f"the noise of {name!r} is {value:.3g} times as wide as its range; "
                "give both in the same units"
            )
    return law


def _read_marginal(name: str, law: LawLike) -> NoiseLaw:
    read = read_law(f"the noise of {name!r}", law)
    if len(read.mean) != 1:
        raise ValueError(
            f"the noise of {name!r} must be the law of one number such as Normal(0.1), got {read}; "
            "pass a joint law for all parameters as noise itself, or for some of them with a "
            "tuple of their names"
        )
    return read


def _read_joint(names: Names, law: LawLike) -> NoiseLaw:
    read = read_law(f"the noise of {names}", law)
    if isinstance(read, Common):
        d = len(names) if read.loads is None else len(read.loads)
    else:
        d = len(read.mean)
    if d == len(names):
        return read.in_dimension(d)
    if d == 1:
        remedy = (
            f"write Common({read}) if they move together, or one law for each name if they do not"
        )
    else:
        remedy = "name as many parameters as it has, in its order"
    raise ValueError(
        f"the noise of {names} must be a joint law of {len(names)} parameters, but {read} is one "
        f"of {d}; {remedy}"
    )
