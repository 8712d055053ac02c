"""Put what `fairview paper` left in a folder onto the site: pages, pictures and CSV files.

`python docs/results/make.py runs/paper`, after `fairview paper results --out runs/paper`.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from fairview.paper.artefacts import documents
from fairview.paper.results_page import PICTURES, TABLES

DOCS = Path(__file__).parents[1]


def on_the_site(page: str) -> str:
    """Pictures lie in `results/`; pages of the docs that a page names become links.

    Example:
        >>> on_the_site("![Figure 4](fig4.svg) is measured (docs/speed.md).")
        '![Figure 4](results/fig4.svg) is measured ([speed](speed.md)).'
    """
    page = re.sub(r"\]\(([\w-]+\.svg)\)", r"](results/\1)", page)
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](\1.md)", page)


def main(folder: Path) -> None:
    """Both pages, the pictures on the first one, and every table as CSV and JSON."""
    for name in ("results.md", TABLES):
        (DOCS / name).write_text(on_the_site((folder / name).read_text(encoding="utf-8")), encoding="utf-8")
    for stem in documents(folder):
        for path in (*folder.glob(f"{stem}*.csv"), folder / f"{stem}.json"):
            shutil.copyfile(path, DOCS / "results" / path.name)
    for stem in PICTURES:
        if (folder / f"{stem}.svg").exists():
            shutil.copyfile(folder / f"{stem}.svg", DOCS / "results" / f"{stem}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
