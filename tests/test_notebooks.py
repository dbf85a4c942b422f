"""The notebooks of the documentation: their pages show what they hold, and every night they are run again."""

import json
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
sys.path.insert(0, str(FOLDER))
import run_notebooks  # noqa: E402

NAMES = ["city", "mechanism-author", "ml-engineer", "query-service"]


def stored(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_cells(book):
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def test_there_are_four():
    assert [path.stem for path in run_notebooks.notebooks()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_its_notebook(name):
    text, pictures = run_notebooks.page(stored(name), name)
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == text
    for file, svg in pictures.items():
        assert (FOLDER / file).read_text(encoding="utf-8") == svg


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_executed_and_tidy(name):
    book = stored(name)
    assert run_notebooks.tidy(book) == book
    outputs = [output for cell in code_cells(book) for output in cell["outputs"]]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error"]
    said = json.dumps(outputs)
    assert "site-packages" not in said
    assert not re.search(r"(?<![\w.<:/])/[a-z]+/[a-z0-9_]", said)  # the path of a machine


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_in_the_documentation(name):
    assert f"notebooks/{name}.md" in (FOLDER.parents[1] / "mkdocs.yml").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gives_the_same_outputs_again(name):
    pytest.importorskip("nbclient")
    again = run_notebooks.execute(FOLDER / f"{name}.ipynb")
    for cell, before in zip(code_cells(again), code_cells(stored(name)), strict=True):
        assert cell["outputs"] == before["outputs"]
