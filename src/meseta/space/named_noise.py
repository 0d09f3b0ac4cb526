"""The law of xi for named parameters: one law each, what several share, one for all, or none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from meseta.boundary import check_word, read_number, unknown
from meseta.noise import Edge, Environment, NoiseLaw, Normal, Shared, Substituted, Substitution
from meseta.noise.joint import Part, joint
from meseta.noise.law import depends_on_x
from meseta.noise.placing import check_joint, environment, placed
from meseta.noise.scipy_law import LawLike, read_law
from meseta.space.parameter import Categorical, Float, Int, Parameter
from meseta.space.space import Space

WIDEST = 1e100  # in widths of the range

Names = tuple[str, ...]

if TYPE_CHECKING:
    Noise = LawLike | Environment | Substitution
    NamedNoise = Noise | Mapping[str, Noise] | Mapping[Names, Noise] | Mapping[str | Names, Noise]
    NamedEdge = Edge | Mapping[str, Edge]
else:  # at run time they are read by hand, so that a mistake is named
    Noise = NamedNoise = NamedEdge = object


def read_noise(noise: NamedNoise | None, space: Space, edge: NamedEdge = "allow") -> NoiseLaw:
    """The joint law of all columns of the space, in their order and units.

    A dict names the parameters that are perturbed, each with a law of its own; the others are
    not. A tuple of names has a joint law of these parameters:

        {"x": Normal(0.1), ("x", "y"): Shared(Uniform(0.2)), ("u", "v"): Normal(covariance=...)}

    A parameter with a law of its own may be in one tuple as well: both contributions add up. A
    single law holds for all parameters. None: nothing is perturbed, and g = f. Frozen
    distributions of scipy.stats are laws. `edge` says what becomes of values beyond the ranges.
    """
    edges = _read_edges(edge, space)
    laws: list[NoiseLaw] = [Normal(0.0)] * space.num_columns
    parts: list[Part] = []
    seen: dict[str, Names] = {}
    own = _by_name(noise, space)
    for key, law in own.items():
        names: Names = key if isinstance(key, tuple) else (key,)
        _check_names(names, space)
        dims = tuple(i for name in names for i in _columns(space, name))
        if isinstance(key, tuple):
            _check_apart(names, seen)
            parts.append((dims, _read_joint(names, law, space, edges, own)))
            continue
        parameter = space.parameters[space.names.index(key)]
        if isinstance(parameter, Categorical):
            parts.append((dims, _read_confusion(key, parameter, law)))
        else:
            laws[dims[0]] = _read_marginal(key, parameter, law, edges[key])
    return _fitting(joint(laws, parts), space)


def own_law(noise: NamedNoise | None, space: Space, name: str) -> object:
    """The law of one parameter as it was stated; refused where it is not a law of its own."""
    laws = _by_name(noise, space)
    shared = [key for key in laws if isinstance(key, tuple) and name in key]
    if shared:
        raise ValueError(
            f"{name!r} shares noise with others, {shared[0]}, so that its width is not its own"
        )
    if name not in laws:
        raise ValueError(f"{name!r} has no noise, so that there is no tolerance")
    return laws[name]


def check_noise(noise: NamedNoise | None) -> None:
    """Refuse what is no noise of any parameters."""
    if noise is None:
        return
    laws: Mapping[Any, Any] = noise if isinstance(noise, Mapping) else {(): noise}
    for key, law in laws.items():
        if not all(isinstance(name, str) for name in (key if isinstance(key, tuple) else (key,))):
            raise TypeError(f"noise must name parameters, got {key!r}")
        if not isinstance(law, Environment | Substitution):
            read_law("noise" if key == () else f"the noise of {key!r}", law)


def check_edge(edge: NamedEdge) -> None:
    """Refuse what is no edge of any parameters."""
    for word in edge.values() if isinstance(edge, Mapping) else (edge,):
        check_word("edge", word, get_args(Edge))


def read_environment(noise: NamedNoise | None, space: Space) -> dict[str, Environment]:
    """The parameters that are no part of the design, by name."""
    if not isinstance(noise, Mapping):
        return {}
    found = {str(name): law for name, law in noise.items() if isinstance(law, Environment)}
    if len(found) == space.dimension:
        raise ValueError(
            "every parameter is an Environment, so that there is nothing to design; add a "
            "parameter that is"
        )
    return found


def without_environment(noise: NamedNoise | None) -> NamedNoise | None:
    """What acts on designs in an experiment: environments are as they are set or observed."""
    if not isinstance(noise, Mapping):
        return noise
    return {name: law for name, law in noise.items() if not isinstance(law, Environment)}


def check_acting(law: NoiseLaw) -> None:
    """Refuse noise that acts unseen where there is none."""
    if not (law.covariance_matrix.diagonal() > 0).any():
        raise ValueError(
            'executed="unseen" says that the noise acted on an experiment, but nothing perturbs a '
            "design; say what does by noise=..., or leave executed out"
        )


def _by_name(noise: Any, space: Space) -> Mapping[Any, Any]:
    if noise is None:
        return {}
    if isinstance(noise, Mapping):
        return noise
    law = read_law("noise", noise)
    for name, parameter in space.items():
        _check_perturbed_alike(name, parameter)
    law = law.in_dimension(space.dimension)
    if law.independent:
        return dict(zip(space.names, law.marginals, strict=True))
    return {space.names: law}


def _columns(space: Space, name: str) -> range:
    place = space.columns_of(name)
    return range(place.start, place.stop)


def _check_names(names: tuple[Any, ...], space: Space) -> None:
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


def _check_perturbed_alike(name: str, parameter: Parameter) -> None:
    """Refuse a parameter that one law for all of them would not suit."""
    if isinstance(parameter, Categorical | Int) or parameter.log:
        raise ValueError(
            f"one law perturbs all parameters, but {name!r} is {parameter}; name those that are "
            "perturbed, noise={'speed': Normal(0.1)}"
        )


def _read_edges(edge: Any, space: Space) -> dict[str, Edge]:
    """One for each parameter."""
    check_edge(edge)
    chosen = dict(edge) if isinstance(edge, Mapping) else dict.fromkeys(space.names, edge)
    for name in chosen:
        if name not in space.names:
            raise ValueError(
                f"edge of an unknown parameter: {unknown('parameter', name, space.names)}"
            )
    return {name: chosen.get(name, "allow") for name in space.names}


def _read_marginal(name: str, parameter: Float | Int, law: object, edge: Edge) -> NoiseLaw:
    low, high, log = float(parameter.low), float(parameter.high), parameter.log
    what = f"the noise of {name!r}"
    if isinstance(law, Substitution):
        raise ValueError(
            f"{what} is a {law}, but {name!r} is {parameter}; only a choice can be replaced by "
            "another choice"
        )
    if isinstance(law, Environment):
        return environment(read_law(f"the Environment {name!r}", law.law), low, high, log=log)
    read = read_law(what, law)
    if len(read.mean) != 1:
        raise ValueError(
            f"{what} must be the law of one number such as Normal(0.1), got {read}; "
            "pass a joint law for all parameters as noise itself, or for some of them with a "
            "tuple of their names"
        )
    return placed(read, low, high, what=what, edge=edge, log=log)


def _read_confusion(name: str, parameter: Categorical, law: object) -> NoiseLaw:
    num = parameter.count
    choices = tuple(tuple(parameter.to_columns(choice)) for choice in parameter.choices)
    if isinstance(law, Substitution):
        try:
            matrix = law.matrix(num)
        except ValueError as error:
            raise ValueError(f"the noise of {name!r}: {error}") from None
        return Substituted(choices, tuple(tuple(row) for row in matrix.tolist()))
    if isinstance(law, Environment) and isinstance(law.law, Mapping):
        shares = {parameter.read(f"a choice of {name!r}", c): p for c, p in law.law.items()}
        row = [
            read_number(f"the probability of {c!r}", shares.get(c, 0.0)) for c in parameter.choices
        ]
        if min(row) < 0 or abs(sum(row) - 1) > 1e-9:
            raise ValueError(f"the probabilities of {name!r} must sum to 1, got {dict(law.law)}")
        return Substituted(choices, (tuple(row),) * num)
    raise ValueError(
        f"{name!r} is a choice, and noise is added to numbers only, got {law!r}; write "
        "Substitution(0.05) if another choice may be carried out, or leave it out"
    )


def _read_joint(
    names: Names,
    law: object,
    space: Space,
    edges: dict[str, Edge],
    own: Mapping[Any, Any],
) -> NoiseLaw:
    what = f"the noise of {names}"
    read = read_law(what, law)
    check_joint(what, read)
    for name in names:
        parameter = space.parameters[space.names.index(name)]
        if isinstance(parameter, Categorical) or parameter.log:
            raise ValueError(
                f"{what} moves them together, but {name!r} is {parameter}; give it a law of its own"
            )
        alone = own.get(name)
        if isinstance(alone, NoiseLaw) and depends_on_x(alone):
            raise ValueError(
                f"{what} moves them together, and that of {name!r} alone, {alone!r}, depends "
                "on its value, so the two can't be added up; leave out one of them"
            )
        if edges[name] != "allow":
            raise ValueError(
                f"{what} moves them together, which goes with edge='allow' only, but that of "
                f"{name!r} is {edges[name]!r}"
            )
    if isinstance(read, Shared):
        d = len(names) if read.loads is None else len(read.loads)
    else:
        d = len(read.mean)
    if d == len(names):
        return read.in_dimension(d)
    if d == 1:
        remedy = (
            f"write Shared({read}) if they move together, or one law for each name if they do not"
        )
    else:
        remedy = "name as many parameters as it has, in its order"
    raise ValueError(
        f"{what} must be a joint law of {len(names)} parameters, but {read} is one of {d}; {remedy}"
    )


def _fitting(law: NoiseLaw, space: Space) -> NoiseLaw:
    """Refuse noise whose width, in shares of the ranges, is beyond floating point."""
    low, high = space.bounds
    share = law.covariance_matrix.diagonal().sqrt() / (high - low)
    for name in space.names:
        value = float(share[space.columns_of(name)].max())
        if not value < WIDEST:
            raise ValueError(
                f"the noise of {name!r} is {value:.3g} times as wide as its range; "
                "give both in the same units"
            )
    return law
