"""The pictures of the documentation are there, small, described, and the page says what they show."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / "pictures"
PAGE = DOCS / "locations.md"
NUMBERS = json.loads((PICTURES / "numbers.json").read_text())
LARGEST = 150_000  # bytes


def plain(text):
    return " ".join(text.split())


def test_pictures_are_shown_with_alternative_text():
    pages = "\n".join(page.read_text() for page in DOCS.rglob("*.md"))
    shown = {path: text for text, path in re.findall(r"!\[([^\]]*)\]\((?:\.\./)?(pictures/[^)]+)\)", pages)}
    assert {DOCS / path for path in shown} == {*PICTURES.glob("*.svg"), *PICTURES.glob("*.png")}
    assert all(len(text) > 60 for text in shown.values())


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_pictures_are_small_and_self_contained(picture):
    assert picture.stat().st_size < LARGEST
    names = {element.tag.rpartition("}")[2] for element in ElementTree.parse(picture).iter()}
    assert names.isdisjoint({"script", "image", "foreignObject"})
    assert not re.search(r"(href|src)=", picture.read_text())


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.png")), ids=lambda path: path.stem)
def test_screens_of_reports_are_small(picture):
    assert picture.stat().st_size < LARGEST
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_page_describes_the_pictures():
    page = plain(PAGE.read_text())
    captions = [part["caption"] for part in NUMBERS.values() if isinstance(part, dict) and "caption" in part]
    assert len(captions) == 7
    for text in (*captions, *NUMBERS["choices"]["table"]):
        assert plain(text) in page


def test_picture_script_imports_work():
    command = [sys.executable, "-c", "import make"]
    done = subprocess.run(command, cwd=PICTURES, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_picture_numbers_are_up_to_date(monkeypatch):
    """Exposure is computed, not simulated: it may move by its own error only."""
    monkeypatch.syspath_prepend(PICTURES)
    import city
    import release_choices

    with city.visits_folder() as folder:
        for row, setting in zip(NUMBERS["choices"]["rows"], release_choices.CHOICES, strict=True):
            if setting.name not in ("event ε=0.5", "user ε=1, 5 in all", "daily, event ε=1"):
                continue
            release = city.release_of(setting, folder)
            for adversary in ("informed", "auxiliary"):
                found = release.quantile(adversary, city.FOUND, city.WORST)
                assert found == pytest.approx(row[f"{adversary} found"], abs=0.003)
                right = release.quantile(adversary, "accuracy", 0.5)
                assert right == pytest.approx(row[f"{adversary} accuracy"], abs=0.003)
            assert release.error == pytest.approx(row["error"], rel=0.02)
