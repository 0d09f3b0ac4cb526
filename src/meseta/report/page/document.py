"""The report as one HTML document, which loads no other file."""

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files

from plotly.offline import get_plotlyjs

from meseta.gp.fit import KernelName
from meseta.report.page.answer_tab import answer_tab
from meseta.report.page.capability_tab import capability_tab
from meseta.report.page.landscape_tab import landscape_tab
from meseta.report.page.markup import Child, Markup, element
from meseta.report.page.packing import packed_library
from meseta.report.page.play_tab import play_tab
from meseta.report.page.running_notice import refresh, running_notice
from meseta.report.page.search_tab import search_tab
from meseta.report.page.summary import counts, summary
from meseta.report.page.theme import DARK, FONT, LIGHT, custom_properties, in_the_dark, template
from meseta.report.page.tolerances_tab import tolerances_tab
from meseta.report.views.report import Report

# runs before the first paint, so that texts for readers without scripts never appear
AT_ONCE = 'document.documentElement.classList.add("scripted");'
GENERATOR = "meseta"  # marks a file as a report
KERNELS: dict[KernelName, str] = {
    "auto": "mixture of squared exponential, Matérn 5/2 and Matérn 3/2",
    "se": "squared exponential",
    "matern52": "Matérn 5/2",
    "matern32": "Matérn 3/2",
}
SCRIPTS = ("model.js", "numbers.js", "play.js", "page.js")  # the last one ties all together
MOST_LINES = 3  # noise laws in the head that have a line each; more share one


@dataclass(frozen=True)
class Tab:
    key: str
    title: str
    content: Markup


def document(report: Report) -> str:
    scripts = [_file(name) for name in SCRIPTS]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=GENERATOR),
        refresh(report.running),
        element("title", report.terms.title),
        element("style", Markup(_style())),
        element("script", Markup(AT_ONCE)),
    )
    tabs = _tabs(report)
    body = element(
        "body",
        running_notice(report.running),
        _header(report),
        element("main", _tablist(tabs) if len(tabs) > 1 else None, [_panel(t, tabs) for t in tabs]),
        element("script", Markup(_themes()), type="application/json", id="themes"),
        element("script", packed_library(), type="text/plain", id="library"),
        [element("script", Markup(script)) for script in scripts],
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _tabs(report: Report) -> list[Tab]:
    search = Tab("search", "Trials and model", search_tab(report))
    if report.answer is None:
        return [search]
    play = [] if report.play is None else [Tab("play", "Try it", play_tab(report, report.play))]
    return [
        Tab("answer", "Robust optimum", answer_tab(report, report.answer)),
        *(
            []
            if report.capability is None
            else [Tab("capability", "Capability", capability_tab(report.capability, report.terms))]
        ),
        Tab("tolerances", "Tolerances", tolerances_tab(report)),
        Tab("landscape", "Landscape", landscape_tab(report)),
        *play,
        search,
    ]


def _header(report: Report) -> Markup:
    terms = report.terms
    laws = [f"{whose}: {law}" for whose, law in report.noise]
    noise = [element("div", law) for law in laws] if len(laws) <= MOST_LINES else "; ".join(laws)
    facts: tuple[tuple[str, Child], ...] = (
        *_origin(report),
        ("Trials", counts(report)),
        ("Method", report.method),
        ("Kernel", KERNELS[report.kernel]),
        ("Goal", _goal(report)),
        ("Noise", noise or "none"),
    )
    return element(
        "header",
        element(
            "div",
            element("h1", terms.title),
            element("button", "Theme: auto", type="button", id="theme", hidden=True),
            class_="top",
        ),
        element("p", summary(report), class_="summary"),
        element("p", terms.note, class_="note") if terms.note else None,
        element("dl", [element("div", element("dt", n), element("dd", v)) for n, v in facts]),
        element(
            "p",
            "The plots need JavaScript. All tables and texts are below.",
            class_="notice unscripted",
        ),
        element("p", class_="notice", id="without-plots", role="status", hidden=True),
    )


def _origin(report: Report) -> list[tuple[str, Child]]:
    """When, of which file and by which version; nothing of a report that nobody has stamped."""
    of = report.origin
    if of is None:
        return []
    return [
        ("Written", of.written),
        *([("Study file", of.file)] if of.file else []),
        ("Meseta", of.version),
    ]


def _tablist(tabs: list[Tab]) -> Markup:
    """The list of tabs. The script shows it; without the script all panels are open."""
    buttons = [
        element(
            "button",
            tab.title,
            type="button",
            role="tab",
            id=f"tab-{tab.key}",
            aria_controls=f"panel-{tab.key}",
            aria_selected="true" if tab is tabs[0] else "false",
            tabindex=0 if tab is tabs[0] else -1,
        )
        for tab in tabs
    ]
    return element("div", buttons, role="tablist", aria_label="Parts of the report", hidden=True)


def _panel(tab: Tab, tabs: list[Tab]) -> Markup:
    heading = element("h2", tab.title)
    if len(tabs) == 1:
        return element("div", heading, tab.content, class_="panel")
    return element(
        "div",
        heading,
        tab.content,
        class_="panel",
        role="tabpanel",
        id=f"panel-{tab.key}",
        aria_labelledby=f"tab-{tab.key}",
    )


def _style() -> str:
    light, dark = custom_properties(LIGHT), custom_properties(DARK)
    return "\n".join(
        (
            f":root {{ color-scheme: light; --font: {FONT}; {light} }}",
            ':root[data-theme="dark"] { color-scheme: dark; ' + dark + " }",
            "@media screen and (prefers-color-scheme: dark) { :root:not([data-theme]) "
            "{ color-scheme: dark; " + dark + " } }",
            _file("page.css"),
            f"@media print {{ :root, :root[data-theme] {{ color-scheme: light; {light} }} }}",
        )
    )


def _themes() -> str:
    """The colours that the script gives to plots, as JSON."""
    themes = {
        "light": {"template": template(LIGHT), "colors": {}},
        "dark": {"template": template(DARK), "colors": in_the_dark()},
    }
    return json.dumps(themes, separators=(",", ":"))


def _policy(scripts: list[str]) -> str:
    """The security policy: the page loads nothing, and only its own scripts run."""
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in (AT_ONCE, *scripts, get_plotlyjs()))
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _file(name: str) -> str:
    return files("meseta.report.page").joinpath(name).read_text(encoding="utf-8")


def _goal(report: Report) -> str:
    by = None if report.answer is None else report.answer.measured
    if by is not None and not by.of_values:
        return f"{report.terms.value}: {by.words}"
    goal = f"{'maximize' if report.maximize else 'minimize'} {report.terms.value}"
    return goal if by is None else f"{goal} ({by.words})"
