"""The picture of fitted noise laws, as a file."""

import html
import io
from pathlib import Path

from meseta.study.noise_answer import NoiseAnswer, in_words
from meseta.whole_file import write_whole

KINDS = (".html", ".svg", ".png", ".pdf")


def check_picture(path: Path, table: Path, *, force: bool = False) -> None:
    """Refuse a file that cannot be drawn to, or that must not be overwritten."""
    if path.suffix.lower() not in KINDS:
        raise ValueError(f"{path} must end in {', '.join(KINDS)}, which says what is drawn")
    if path.exists() and table.exists() and path.samefile(table):
        raise ValueError(f"{path} is the table itself, which is never overwritten")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"{path} is no file in a folder that exists")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists and is left as it is; name another, or say --force")


def write_picture(answer: NoiseAnswer, path: Path) -> None:
    """Draw all columns to a file, which is there as a whole or not at all."""
    from meseta.report.plot import noise_fits

    units = {each.name: each.unit for each in answer.file.columns}
    labels = {name: f"{name} [{units[name]}]" if units[name] else name for name in answer.fits}
    if not labels:
        raise ValueError("no column has a law that could be drawn")
    figure = noise_fits({labels[name]: fit for name, fit in answer.fits.items()})
    kind, image = path.suffix.lower().removeprefix("."), io.BytesIO()
    figure.savefig(image, format="svg" if kind == "html" else kind, dpi=200)
    data = image.getvalue()
    if kind == "html":
        data = _page(answer, data.decode("utf-8")).encode("utf-8", errors="replace")
    write_whole(path, data)


def _page(answer: NoiseAnswer, svg: str) -> str:
    title = html.escape(f"Noise of {answer.file.path.name}")
    drawing = svg[svg.index("<svg") :]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "svg{max-width:100%;height:auto}pre{overflow-x:auto}</style></head>\n"
        f"<body><h1>{title}</h1>\n{drawing}\n<pre>{html.escape(in_words(answer))}</pre></body>\n"
        "</html>\n"
    )
