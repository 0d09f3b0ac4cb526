"""Pictures of the report that `make demo` writes, for the documentation.

    python docs/pictures/screenshots.py [demo/report.html]

Needs playwright and a Chromium.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import FloatRect, Page, sync_playwright

HERE = Path(__file__).parent
WIDTH = 1100
# The tab, the heading at which the picture starts (none: the top), its height, and its file.
PICTURES = (
    ("Robust optimum", None, 1800, "report-answer"),
    ("Capability", None, 1060, "report-capability"),
    ("Tolerances", "Gain from half the noise", 980, "report-tolerances"),
    ("Landscape", "f and g over two parameters", 680, "report-landscape"),
    ("Try it", None, 1240, "report-try"),
)


def take(page: Page, tab: str, heading: str | None, height: int, path: Path) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('[role=tabpanel]:not([hidden]) .plot')]"
        ".every(each => each.querySelector('.main-svg'))"
    )
    page.wait_for_timeout(500)  # for the last labels
    top = 0.0
    if heading is not None:
        box = page.get_by_role("heading", name=heading).bounding_box()
        assert box is not None
        top = box["y"] - 20
    clip: FloatRect = {"x": 0.0, "y": top, "width": float(WIDTH), "height": float(height)}
    page.screenshot(path=path, full_page=True, clip=clip)


def main(report: str = "demo/report.html") -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": 1200}, color_scheme="light")
        page.goto(Path(report).resolve().as_uri())
        for tab, heading, height, name in PICTURES:
            take(page, tab, heading, height, HERE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
