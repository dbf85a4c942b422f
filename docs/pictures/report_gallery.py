"""Photograph the first screen of reports: ``python docs/pictures/report_gallery.py``.

It runs examples with limits in a folder of their own and opens their reports in Chromium. Names given on the
command line photograph only those.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import leakgauge

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent.parent / "examples"
WIDTH = 1280
COLOURS = 128  # of a picture: text and bars need no more
HEADINGS = {  # as an owner would head the plan, with limits
    "city-table": ("Hourly counts per place, May", "City of Example, open data", {"accuracy": 0.6}),
    "noisy-count": ("Positive tests per ward", "Hospital of Example", {"accuracy": 0.75}),
    "query-service": ("Statistics service", "Survey office of Example", {"accuracy": 0.7}),
    "federated-clients": ("Picture clients", "Federated team of Example", {"accuracy": 0.6}),
    "own-model": ("Credit classifier", "Bank of Example", {"accuracy": 0.6}),
}


def main(names: list[str]) -> None:
    """Photograph the reports of these examples, or of all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in names or HEADINGS:
            report = run_example(name, Path(folder))
            (FOLDER / f"report-{name}.png").write_bytes(first_screen(browser, report))
        browser.close()


def run_example(name: str, folder: Path) -> Path:
    """Run an example with a heading and limits; return the file of its report."""
    example = folder / name
    shutil.copytree(EXAMPLES / name, example, ignore=shutil.ignore_patterns("__pycache__"))
    title, owner, limits = HEADINGS[name]
    lines = [f"{metric} = {limit}" for metric, limit in limits.items()]
    plan = example / "plan.toml"
    heading = f'title = "{title}"\nowner = "{owner}"\n'
    plan.write_text("\n".join([heading + plan.read_text(), "[limits]", *lines, ""]))
    out = folder / f"{name}-run"
    leakgauge.run(plan, out=out)
    return out / "report.html"


def first_screen(browser: Browser, report: Path) -> bytes:
    """The part of a report that decides, as a small PNG."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.goto(report.as_uri())
    box = page.locator("h2", has_text="Appendix").first.bounding_box()
    height = int(box["y"]) - 8 if box else 900
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    page.close()
    small = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS)
    out = io.BytesIO()
    small.save(out, format="PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main(sys.argv[1:])
