"""HTML tables with a caption and row heads; wide ones scroll by themselves."""

from collections.abc import Iterable, Sequence

from meseta.report.page.markup import Child, Markup, element, together


def table(
    caption: str, head: Sequence[Child], rows: Iterable[Sequence[Child]], *, wide: bool = False
) -> Markup:
    """A table. The first cell of a row is its head; `wide` tables also scroll by keyboard."""
    heads = [element("th", cell, scope="col") for cell in head]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            [element("td", cell) for cell in row[1:]],
        )
        for row in rows
    ]
    inner = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", heads)),
        element("tbody", body),
    )
    if wide:
        return element("div", inner, class_="scroll", role="region", aria_label=caption, tabindex=0)
    return element("div", inner, class_="scroll")


def remark(*children: Child) -> Markup:
    """Small text in a cell."""
    return element("span", together(*children), class_="remark")
