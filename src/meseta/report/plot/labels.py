"""Text of users in figures, shown literally: Matplotlib and TeX would read markup in it."""

from matplotlib import rcParams

from meseta.report.views.wording import Terms
from meseta.space.parameter import Value

# Mathematics that both Matplotlib and TeX can set.
F_OF_X = r"$f(x)$"
G_OF_X = r"$g(x) = \mathrm{E}\,f(x + \xi)$"
UNNAMED = Terms()  # if a user gives no words

TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: "\\" + sign for sign in "$%&#_{}"},
    }
)


def plain(text: str) -> str:
    """A text that is shown literally, neither as mathematics nor as TeX."""
    if rcParams["text.usetex"]:
        return text.translate(TEX)
    return text.replace("$", r"\$")


def entry(text: str) -> str:
    """The same for legends, which would leave out texts that start with an underscore."""
    shown = plain(text)
    return f" {shown}" if shown.startswith("_") else shown


def percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"


def named(name: str, unit: str) -> str:
    """The label of an axis: "angle (deg)"."""
    return plain(f"{name} ({unit})" if unit else name)


def of_value(terms: Terms) -> str:
    """The label of an axis of f and g."""
    return named(terms.value, terms.unit)


def of_parameter(name: str, terms: Terms) -> str:
    return named(name, terms.unit_of(name))


def of_choice(choice: Value) -> str:
    return plain(str(choice)) or "''"  # an empty label would look like a mistake
