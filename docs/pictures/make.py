"""Make the pictures of the docs from a run and a tuning folder, with Chromium.

`python docs/pictures/make.py runs/german tuned/german`; `fairview demo --out tuned/german` makes the second one.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from fairview.report import write_report

HERE = Path(__file__).parent
CHARTS = ("leak", "tradeoff-auc")
DESK: dict[str, Any] = {"viewport": {"width": 1180, "height": 860}}
SHOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "report": ("#verdict", DESK),
    "report-leak": ("#leak", DESK),
    "report-groups": ("#groups", DESK),
    "report-dark": ("#tradeoff", DESK | {"color_scheme": "dark"}),
    "report-phone": ("#verdict", {"viewport": {"width": 380, "height": 760}}),
}  # file: (what is at the top of the window, the window)
TUNING_SHOTS = {"report-limit": ("#verdict", DESK), "report-frontier": ("#frontier", DESK)}


def main(run: Path, tuning: Path) -> None:
    """Charts and screenshots of two reports."""
    report = write_report(run, figures=["svg"])
    for name in CHARTS:
        shutil.copyfile(run / "figures" / f"{name}.svg", HERE / f"{name}.svg")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for page, shots in ((report, SHOTS), (write_report(tuning), TUNING_SHOTS)):
            for name, (anchor, window) in shots.items():
                photograph(browser, page, name, anchor, window)
        browser.close()


def photograph(browser: Browser, report: Path, name: str, anchor: str, window: dict[str, Any]) -> None:
    """A picture of the report, with the part that the anchor names at the top."""
    page = browser.new_page(**window)
    page.goto(report.resolve().as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    if anchor != "#verdict":
        page.evaluate("anchor => document.querySelector(anchor).scrollIntoView({behavior: 'instant'})", anchor)
    page.screenshot(path=HERE / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
