"""Matplotlib's plots: what is drawn equals the view, in the words of the user."""

import io
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from meseta.report import plot
from meseta.report.plot.labels import F_OF_X, G_OF_X
from meseta.report.plot.slices import ASIDE
from meseta.report.views.axis import Axis
from meseta.report.views.estimate import BAND, Estimate
from meseta.report.views.landscape import Landscape
from meseta.report.views.next_point import NextPoint
from meseta.report.views.search import Progress, Search
from meseta.report.views.tolerances import Tolerances
from meseta.report.views.wording import Terms
from plot_made_up import (
    ANGLE,
    LAYERS,
    RATE,
    SOLVENT,
    TERMS,
    landscape_of,
    left_out,
    map_of,
    next_of,
    outcomes_of,
    progress_of,
    renamed,
    report_of,
    search_of,
    slice_of,
    tolerances_of,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

BLUE, ORANGE = "#1f77b4", "#d65014"
ON_ONE_AXES = {
    "along": slice_of(ANGLE),
    "acquisition": next_of(ANGLE),
    "progress": progress_of(),
    "outcomes": outcomes_of(),
    "leave_one_out": left_out(),
}
ON_A_FIGURE = {
    "over": map_of(ANGLE, RATE),
    "tolerances": tolerances_of(["angle", "rate"]),
    "trials": search_of(),
    "landscape": landscape_of(ANGLE),
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().add_subplot()


def rendered(figure):
    """Warnings, which are errors here, come up as it is rendered."""
    image = io.BytesIO()
    figure.savefig(image, format="png")
    assert image.getvalue().startswith(b"\x89PNG")
    return figure


def line(ax, label):
    (found,) = [each for each in ax.lines if each.get_label() == label]
    return found


def xy(artist):
    return np.asarray(artist.get_xydata())


def bands(ax):
    """Upper and lower end at each place, as polygons run around them: there and back."""
    for each in ax.collections:
        if hasattr(each, "get_paths") and not isinstance(each, (PathCollection, QuadMesh)):
            vertices = each.get_paths()[0].vertices
            n = (len(vertices) - 3) // 2
            yield vertices[1 : n + 1], vertices[n + 2 : 2 * n + 2][::-1]


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def column(*parts):
    return np.stack([np.array(part, float) for part in parts], axis=1)


@pytest.mark.parametrize("axis", [ANGLE, RATE, LAYERS])
def test_a_slice_shows_means_and_bands_of_f_and_g(ax, axis):
    view = slice_of(axis)
    assert plot.along(view, TERMS, ax) is ax
    for label, mean in ((F_OF_X, view.f_mean), (G_OF_X, view.g_mean)):
        assert np.array_equal(xy(line(ax, label)), column(axis.values, mean))
    drawn = list(bands(ax))
    for (low, high), mean, std in zip(
        drawn, (view.f_mean, view.g_mean), (view.f_std, view.g_std), strict=True
    ):
        for end, sign in ((low, -1), (high, 1)):
            expected = column(axis.values, np.array(mean) + sign * BAND * np.array(std))
            np.testing.assert_allclose(end, expected)
    assert ax.get_xscale() == ("log" if axis is RATE else "linear")
    rendered(ax.figure)


def test_a_slice_shows_both_optima_and_the_data(ax):
    view = slice_of(ANGLE)
    plot.along(view, TERMS, ax)
    assert xy(line(ax, "robust optimum")).tolist() == [[view.robust.x, view.robust.y]]
    assert xy(line(ax, "nominal optimum")).tolist() == [[view.nominal.x, view.nominal.y]]
    assert line(ax, "robust optimum").get_marker() != line(ax, "nominal optimum").get_marker()
    data = line(ax, "evaluations")
    assert xy(data).tolist() == [[each.x, each.value] for each in view.data]
    assert data.get_markerfacecolor() == "#222222"
    assert ax.get_xlabel() == "angle (deg)"
    assert ax.get_ylabel() == "holding force (N)"
    assert texts(ax.get_legend()) == [
        F_OF_X,
        G_OF_X,
        "95 % interval",
        "nominal optimum",
        "robust optimum",
        "evaluations",
    ]


def test_f_and_g_differ_by_colour_and_by_dash(ax):
    plot.along(slice_of(ANGLE), ax=ax)
    f, g = line(ax, F_OF_X), line(ax, G_OF_X)
    assert (f.get_color(), g.get_color()) == (BLUE, ORANGE)
    assert (f.get_linestyle(), g.get_linestyle()) == ("--", "-")


def test_data_beside_the_slice_are_hollow(ax):
    plot.along(slice_of(ANGLE, exact=False), TERMS, ax)
    face = line(ax, "evaluations elsewhere").get_markerfacecolor()
    assert face[3] < 0.5
    assert "evaluations" not in texts(ax.get_legend())


def test_a_slice_without_data_does_not_speak_of_them(ax):
    plot.along(replace(slice_of(ANGLE), data=()), TERMS, ax)
    assert texts(ax.get_legend())[-1] == "robust optimum"


def test_choices_have_error_bars_above_their_labels(ax):
    view = slice_of(SOLVENT)
    plot.along(view, TERMS, ax)
    means = ((-ASIDE, view.f_mean, view.f_std), (ASIDE, view.g_mean, view.g_std))
    for bars, (aside, mean, std) in zip(ax.containers, means, strict=True):
        places = np.arange(4) + aside
        assert np.array_equal(xy(bars.lines[0]), column(places, mean))
        ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
        reach = BAND * np.array(std)
        np.testing.assert_allclose(ends, column(mean - reach, mean + reach))
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "water",
        "ethanol",
        "None",
        "True",
    ]
    at = {choice: place for place, choice in enumerate(SOLVENT.values)}
    assert xy(line(ax, "robust optimum"))[0, 0] == at[view.robust.x] + ASIDE
    assert xy(line(ax, "nominal optimum"))[0, 0] == at[view.nominal.x] - ASIDE
    assert xy(line(ax, "evaluations"))[:, 0].tolist() == [at[each.x] for each in view.data]
    rendered(ax.figure)


def test_whole_numbers_have_whole_ticks(ax):
    plot.along(slice_of(LAYERS), TERMS, ax)
    assert all(tick == round(tick) for tick in ax.get_xticks())
    assert line(ax, F_OF_X).get_marker() == "."


def test_a_map_shows_f_and_g_in_one_scale_of_colours():
    view = map_of(ANGLE, RATE)
    figure = rendered(plot.over(view, TERMS))
    left, right, bar = figure.axes
    meshes = [next(c for c in ax.collections if isinstance(c, QuadMesh)) for ax in (left, right)]
    assert np.array_equal(meshes[0].get_array(), view.f_mean)
    assert np.array_equal(meshes[1].get_array(), view.g_mean)
    both = np.array([view.f_mean, view.g_mean])
    for mesh in meshes:
        assert mesh.get_clim() == (both.min(), both.max())
    assert bar.get_ylim() == (both.min(), both.max())
    assert bar.get_ylabel() == "holding force (N)"
    for ax in (left, right):
        assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
        assert ax.get_xlabel() == "angle (deg)"
        assert ax.get_xlim() == (0, 90)
        np.testing.assert_allclose(ax.get_ylim(), (1e-3, 1))
        assert xy(line(ax, "robust optimum")).tolist() == [[view.robust.x, view.robust.y]]
        assert xy(line(ax, "nominal optimum")).tolist() == [[view.nominal.x, view.nominal.y]]
        assert xy(line(ax, "evaluations")).tolist() == [[each.x, each.y] for each in view.data]
    assert (left.get_ylabel(), right.get_ylabel()) == ("rate (1/s)", "")
    assert (left.get_title(), right.get_title()) == (F_OF_X, G_OF_X)


def test_cells_of_a_map_lie_around_their_values():
    few = Axis("rate", "log", (1e-3, 1e-2, 1e-1))
    left, *_ = rendered(plot.over(map_of(few, SOLVENT), TERMS)).axes
    mesh = next(c for c in left.collections if isinstance(c, QuadMesh))
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [1e-3, 10**-2.5, 10**-1.5, 1e-1])
    np.testing.assert_allclose(corners[:, 0, 1], [-0.5, 0.5, 1.5, 2.5, 3.5])
    assert [label.get_text() for label in left.get_yticklabels()] == [
        "water",
        "ethanol",
        "None",
        "True",
    ]
    whole = Axis("layers", "log", (1, 2, 4))
    left, *_ = rendered(plot.over(map_of(whole, SOLVENT), TERMS)).axes
    corners = next(c for c in left.collections if isinstance(c, QuadMesh)).get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [2**-0.5, 2**0.5, 2**1.5, 2**2.5])


def test_a_flat_map_has_one_colour():
    view = map_of(ANGLE, RATE)
    flat = tuple((3.0,) * len(ANGLE.values) for _ in RATE.values)
    figure = rendered(plot.over(replace(view, f_mean=flat, g_mean=flat), TERMS))
    assert len(figure.axes) == 3


def test_the_acquisition_function_and_the_next_point(ax):
    view = next_of(ANGLE)
    assert plot.acquisition(view, TERMS, ax) is ax
    assert np.array_equal(xy(line(ax, "acquisition")), column(ANGLE.values, view.acquisition))
    assert line(ax, "next evaluation").get_xdata() == [view.params["angle"]] * 2
    assert ax.get_ylabel() == "acquisition (rkg)"
    assert ax.get_xlabel() == "angle (deg)"


def test_the_acquisition_function_of_choices(ax):
    view = next_of(SOLVENT)
    plot.acquisition(view, TERMS, ax)
    assert [bar.get_height() for bar in ax.patches] == list(view.acquisition)
    chosen = SOLVENT.values.index(view.params["solvent"])
    assert line(ax, "next evaluation").get_xdata() == [chosen] * 2
    rendered(ax.figure)


def test_there_is_no_acquisition_function_along_many_parameters():
    view = NextPoint("rkg", {"angle": 1.0, "rate": 0.1}, None, ())
    with pytest.raises(
        ValueError, match=r"one parameter .*; this view has the parameters angle, rate"
    ):
        plot.acquisition(view)


@pytest.mark.parametrize(
    ("maximize", "ending"),
    [(True, "\nlarger is better"), (False, "\nsmaller is better"), (None, "")],
)
def test_progress_shows_g_at_the_recommended_design(ax, maximize, ending):
    view = progress_of(sign=-1.0 if maximize is False else 1.0)
    assert plot.progress(view, TERMS, ax, maximize=maximize) is ax
    (drawn,) = ax.lines
    assert np.array_equal(xy(drawn), column(view.evaluations, [best.mean for best in view.best]))
    ((low, high),) = bands(ax)
    np.testing.assert_allclose(low[:, 1], [best.low for best in view.best])
    np.testing.assert_allclose(high[:, 1], [best.high for best in view.best])
    assert ax.get_xlabel() == "evaluations"
    assert ax.get_ylabel() == "expected holding force (N)" + ending


def test_progress_after_one_evaluation_is_a_dot(ax):
    plot.progress(Progress((1,), ({"x": 1.0},), (Estimate(3.0, 1.0),)), ax=ax)
    assert ax.lines[0].get_marker() == "o"
    rendered(ax.figure)


def test_outcomes_are_two_histograms_with_the_limits(ax):
    view = outcomes_of()
    assert plot.outcomes(view, TERMS, ax) is ax
    nominal, robust = ax.patches
    for drawn, share in ((nominal, view.nominal_share), (robust, view.robust_share)):
        values, edges, _ = drawn.get_data()
        assert np.array_equal(values, share)
        assert np.array_equal(edges, view.edges)
    assert (to_hex(nominal.get_edgecolor()), to_hex(robust.get_edgecolor())) == (BLUE, ORANGE)
    assert line(ax, "at least 11 N").get_xdata() == [11.0] * 2
    assert line(ax, "at most 19 N").get_xdata() == [19.0] * 2
    assert texts(ax.get_legend()) == [
        "nominal optimum: 74.2 % within limits, 2.5 % not shown",
        "robust optimum: 99.8 % within limits",
        "at least 11 N",
        "at most 19 N",
    ]
    assert ax.get_xlabel() == "holding force (N)"
    assert ax.get_ylim()[0] == 0


def test_outcomes_without_a_specification_have_no_limits(ax):
    plot.outcomes(outcomes_of(spec=False), Terms(), ax)
    assert not ax.lines
    assert texts(ax.get_legend()) == ["nominal optimum, 2.5 % not shown", "robust optimum"]
    assert ax.get_xlabel() == "f"


def test_tolerances_show_curves_and_what_halving_buys():
    view = tolerances_of(["angle", "rate", "layers"])
    left, right = rendered(plot.tolerances(view, TERMS)).axes
    drawn = list(bands(left))
    for each, (low, high) in zip(view.each, drawn, strict=True):
        means = [best.mean for best in each.best]
        assert np.array_equal(xy(line(left, each.name)), column(each.factors, means))
        np.testing.assert_allclose(low[:, 1], [best.low for best in each.best])
        np.testing.assert_allclose(high[:, 1], [best.high for best in each.best])
    gains = [each.halving for each in view.each]
    assert [bar.get_width() for bar in right.patches] == [gain.mean for gain in gains]
    (errors,) = [each for each in right.collections if hasattr(each, "get_segments")]
    ends = np.array([segment[:, 0] for segment in errors.get_segments()])
    np.testing.assert_allclose(ends, [(gain.low, gain.high) for gain in gains])
    assert [label.get_text() for label in right.get_yticklabels()] == ["angle", "rate", "layers"]
    bottom, top = right.get_ylim()
    assert bottom > top  # what matters most stands at the top
    colours = [line(left, each.name).get_color().lower() for each in view.each]
    assert [to_hex(bar.get_facecolor()) for bar in right.patches] == colours
    assert len({line(left, each.name).get_marker() for each in view.each}) == 3
    assert left.get_ylabel() == "best expected holding force (N)"
    assert right.get_xlabel() == "gain from half the noise (N)"


def test_tolerances_that_matter_least_are_grey():
    view = tolerances_of([f"p{i}" for i in range(9)])
    left, right = rendered(plot.tolerances(view, TERMS)).axes
    assert texts(left.get_legend()) == [*[f"p{i}" for i in range(6)], "others"]
    assert len(right.patches) == 9
    curves = [each for each in left.lines if len(each.get_xdata()) > 2]
    assert len(curves) == 9


def test_no_tolerance_is_refused():
    with pytest.raises(ValueError, match="no parameter has noise"):
        plot.tolerances(Tolerances((), ()))


def test_leaving_one_out_shows_predictions_beside_values(ax):
    view = left_out()
    assert plot.leave_one_out(view, TERMS, ax) is ax
    within, beyond = ax.containers
    assert xy(beyond.lines[0]).tolist() == [[view.observed[4], view.predicted[4].mean]]
    kept = [i for i in range(16) if i != 4]
    means = [view.predicted[i].mean for i in kept]
    assert np.array_equal(xy(within.lines[0]), column([view.observed[i] for i in kept], means))
    ends = np.array([segment[:, 1] for segment in within.lines[2][0].get_segments()])
    expected = [(view.predicted[i].low, view.predicted[i].high) for i in kept]
    np.testing.assert_allclose(ends, expected)
    (remark,) = ax.texts
    assert remark.get_text() == "94 % in their 95 % interval\n87 % of the variance explained"
    assert ax.get_xlabel() == "observed holding force (N)"
    assert ax.get_ylabel() == "predicted holding force (N)"
    rendered(ax.figure)


def test_a_share_that_is_not_defined_is_left_out(ax):
    plot.leave_one_out(replace(left_out(), explained=float("nan")), TERMS, ax)
    assert ax.texts[0].get_text() == "94 % in their 95 % interval"


def test_trials_stand_against_each_parameter():
    view = search_of()
    *panels, bar = rendered(plot.trials(view, TERMS, axes=[RATE, SOLVENT])).axes
    assert [ax.get_xlabel() for ax in panels] == ["angle (deg)", "rate (1/s)", "layers", "solvent"]
    assert [ax.get_ylabel() for ax in panels] == ["holding force (N)", ""] * 2
    assert [ax.get_xscale() for ax in panels] == ["linear", "log", "linear", "linear"]
    done = [row for row in view.trials if row.value is not None]
    for ax, name in zip(panels, view.trials[0].params, strict=True):
        (dots,) = [each for each in ax.collections if isinstance(each, PathCollection)]
        x = [row.params[name] for row in done]
        if name == "solvent":
            x = [SOLVENT.values.index(choice) for choice in x]
        assert np.array_equal(dots.get_offsets(), column(x, [row.value for row in done]))
        assert dots.get_array().tolist() == [row.number for row in done]
    assert bar.get_ylabel() == "trial"


def test_trials_without_a_value_stand_at_the_foot():
    view = search_of()
    figure = plot.trials(view, TERMS)
    (legend,) = figure.legends
    assert texts(legend) == ["failed", "pending"]
    angle = figure.axes[0]
    failed = [row.params["angle"] for row in view.trials if row.state == "failed"]
    assert line(angle, "failed").get_xdata().tolist() == failed
    assert angle.get_ylim()[0] > 0  # they do not count as values


def test_without_axes_choices_stand_as_they_came_up():
    solvent = plot.trials(search_of(), TERMS).axes[3]
    shown = [label.get_text() for label in solvent.get_xticklabels()]
    assert shown == ["water", "ethanol", "None", "True"]


def test_a_report_knows_terms_and_scales():
    figure = plot.trials(report_of(ANGLE, RATE, LAYERS, SOLVENT))
    assert figure.axes[1].get_xscale() == "log"
    assert figure.axes[1].get_xlabel() == "rate (1/s)"


def test_trials_of_which_none_has_a_value():
    rows = tuple(replace(row, value=None, state="pending") for row in search_of().trials[:1])
    figure = rendered(plot.trials(replace(search_of(), trials=rows), TERMS))
    assert texts(figure.legends[0]) == ["pending"]


def test_no_trial_is_refused():
    with pytest.raises(ValueError, match="no trial to draw"):
        plot.trials(Search(None, (), None, (), ()))


def test_a_landscape_of_one_parameter_has_the_acquisition_function_below():
    view = landscape_of(ANGLE)
    upper, lower = rendered(plot.landscape(view, TERMS)).axes
    assert np.array_equal(xy(line(upper, F_OF_X))[:, 1], view.slices[0].f_mean)
    assert np.array_equal(xy(line(lower, "acquisition"))[:, 1], view.next_point.acquisition)
    assert upper.get_xlim() == lower.get_xlim()
    assert (upper.get_xlabel(), lower.get_xlabel()) == ("", "angle (deg)")
    (alone,) = plot.landscape(replace(view, next_point=None), TERMS).axes
    assert alone.get_xlabel() == "angle (deg)"


def test_a_landscape_of_two_parameters_is_a_map():
    left, right, _ = plot.landscape(report_of(ANGLE, RATE)).axes
    assert (left.get_title(), right.get_title()) == (F_OF_X, G_OF_X)
    assert left.get_ylabel() == "rate (1/s)"


def test_a_landscape_of_more_is_a_grid_of_slices():
    axes = rendered(plot.landscape(report_of(ANGLE, RATE, SOLVENT))).axes
    assert [ax.get_xlabel() for ax in axes] == ["angle (deg)", "rate (1/s)", "solvent"]
    assert [ax.get_ylabel() for ax in axes] == ["holding force (N)", "", ""]
    assert len({ax.get_ylim() for ax in axes}) == 1
    five = [replace(ANGLE, name=f"angle {i}") for i in range(5)]
    assert len(rendered(plot.landscape(landscape_of(*five))).axes) == 5


def test_two_parameters_without_a_map_are_slices():
    view = landscape_of(ANGLE, RATE)
    assert len(plot.landscape(Landscape(view.slices, (), 1, None)).axes) == 2


def test_a_report_without_an_answer_has_no_landscape():
    with pytest.raises(ValueError, match="no trial has a value yet"):
        plot.landscape(replace(report_of(ANGLE), landscape=None))


def shown(text):
    """What Matplotlib renders: the letters, and whether they are mathematics."""
    return text._preprocess_math(text.get_text())


@pytest.mark.parametrize("name", ["$x_1", "$x_1$", r"a\$b", "cost_$", "_x", "100 % & {#}", ""])
def test_names_are_shown_letter_by_letter(ax, name):
    terms = Terms(value=name, units={name: "$/$"})
    plot.along(renamed(slice_of(ANGLE), name), terms, ax)
    assert shown(ax.xaxis.label) == (f"{name} ($/$)", False)
    assert shown(ax.yaxis.label) == (name, False)
    rendered(ax.figure)


@pytest.mark.parametrize("name", ["_x", "__", "$a$", "_$a$"])
def test_names_are_in_legends_whatever_they_start_with(name):
    left, right = rendered(plot.tolerances(tolerances_of([name, "angle"]))).axes
    letters, mathematics = shown(left.get_legend().get_texts()[0])
    assert (letters.strip(), mathematics) == (name, False)
    assert shown(right.get_yticklabels()[0]) == (name, False)


def test_choices_are_shown_letter_by_letter(ax):
    view = slice_of(Axis("kind", "choices", ("$a$", "_b", "", None)))
    plot.along(view, ax=ax)
    labels = [shown(label)[0] for label in ax.get_xticklabels()]
    assert labels == ["$a$", "_b", "''", "None"]


def test_many_long_choices_are_slanted(ax):
    plot.along(
        slice_of(Axis("kind", "choices", tuple(f"a long choice {i}" for i in range(5)))), ax=ax
    )
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {30.0}


def test_where_tex_sets_type_names_are_no_tex(ax):
    with matplotlib.rc_context({"text.usetex": True}):
        plot.along(renamed(slice_of(ANGLE), r"a_1\b"), Terms(value="50 %"), ax)
    assert ax.get_xlabel() == r"a\_1\textbackslash{}b"
    assert ax.get_ylabel() == r"50 \%"


@pytest.mark.parametrize("name", ON_ONE_AXES)
def test_a_given_axes_is_used_and_keeps_its_type(ax, name):
    size = ax.xaxis.label.get_size()
    assert getattr(plot, name)(ON_ONE_AXES[name], TERMS, ax) is ax
    assert ax.xaxis.label.get_size() == size
    assert plt.get_fignums() == []
    rendered(ax.figure)


@pytest.mark.parametrize("name", ON_ONE_AXES)
def test_without_an_axes_pyplot_makes_one_figure(name):
    made = getattr(plot, name)(ON_ONE_AXES[name])
    assert [plt.figure(number) for number in plt.get_fignums()] == [made.figure]
    assert made.figure.get_size_inches()[0] == 3.4
    assert made.xaxis.label.get_size() == 8
    rendered(made.figure)


@pytest.mark.parametrize("name", ON_A_FIGURE)
def test_a_figure_is_unknown_to_pyplot_and_shows_itself(name):
    made = getattr(plot, name)(ON_A_FIGURE[name])
    assert isinstance(made, Figure)
    assert plt.get_fignums() == []
    assert made._repr_png_().startswith(b"\x89PNG")  # by which notebooks show it


def test_rc_params_stay_as_they_are():
    before = dict(matplotlib.rcParams)
    for name, view in (ON_ONE_AXES | ON_A_FIGURE).items():
        getattr(plot, name)(view, TERMS)
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for loaded in [each for each in sys.modules if each.startswith("meseta.report.plot")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"report\.plot needs matplotlib.*'meseta\[plot\]'"):
        __import__("meseta.report.plot")
