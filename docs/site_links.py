"""For `mkdocs build`: pages link to files of the repository as GitHub wants it, and so they stay.

Some pages are not in docs/: `ELSEWHERE`. Links from page to page are
rewritten where that moved them; a link to a file that is no page becomes its text.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# Files outside docs/ that are pages, and what they are called there.
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "readme.md",
    "examples/README.md": "examples.md",
}
FENCED = re.compile(r"(^```.*?^```)", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, *, config: Any) -> Files:
    """With the pages that are kept elsewhere."""
    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """With links that hold in the site; those in code stay."""
    source = Path(page.file.abs_src_path)
    place = Path(page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        text, target, anchor = link["text"], link["target"], link["anchor"] or ""
        if re.match(r"[a-z]+:", target):
            return link[0]
        path = Path(os.path.normpath(source.parent / target))
        if not path.is_relative_to(ROOT):
            return link[0]
        inside = ELSEWHERE.get(str(path.relative_to(ROOT)))
        if inside is None and path.is_relative_to(ROOT / "docs"):
            inside = path.relative_to(ROOT / "docs").as_posix()
        if inside is None:
            return text
        return f"{link['image']}[{text}]({os.path.relpath(inside, place)}{anchor})"

    parts = FENCED.split(markdown)
    return "".join(p if p.startswith("```") else LINK.sub(rewritten, p) for p in parts)
