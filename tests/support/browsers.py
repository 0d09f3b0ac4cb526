"""A real browser for tests of pages; these are skipped where there is none."""

import shutil
from contextlib import contextmanager

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# the contrast of every element that has text of its own, against the nearest ground below it
CONTRASTS = """() => {
  const channel = (c) =>
    (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const texts = [...document.querySelectorAll("body *")].filter(
    (e) => own(e) && e.checkVisibility() && !e.closest(".chart, script, noscript"));
  return texts.map((e) => {
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [e.tagName, e.textContent.slice(0, 40), contrast];
  });
}"""


@contextmanager
def launched():
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'meseta[dev]'"
    )
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser: there is none of {', '.join(PROGRAMS)} (Debian: chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIETLY)
        yield browser
        browser.close()
