"""The code of docs/adding.md, copied into the package, passes ruff, mypy and the conformance tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from named_things import ROOT

PAGE = ROOT / "docs" / "adding.md"
FILES = dict(
    re.findall(r"^In `([\w/.-]+)`[^\n]*:\n\n```\w+\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
)
SOURCES = [path for path in FILES if path.startswith("src/")]
CONFORMANCE = {  # by the folder of what is added
    "attacks": "tests/test_conformance.py",
    "metrics": "tests/test_conformance.py",
    "trainers": "tests/domains/models/training/test_trainers.py",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the package and its tests, with the files of the page in it and nothing else changed."""
    folder = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, text in FILES.items():
        path = folder / name
        assert not path.exists(), f"{name} is not new"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def run(checkout, *command):
    """Run a Python module in the copy; its package comes before any installed one."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_all_code_of_the_page_is_copied():
    assert len(FILES) == PAGE.read_text().count("```python")
    assert all(name.endswith(".py") for name in FILES)


def test_ruff_accepts_the_code(checkout):
    for command in (["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]):
        done = run(checkout, *command, *FILES)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_mypy_accepts_the_code(checkout):
    done = run(checkout, "mypy", *SOURCES)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_conformance_finds_and_accepts_what_was_added(checkout):
    added = [Path(name) for name in SOURCES if Path(name).parent.name in CONFORMANCE]
    tests = sorted({CONFORMANCE[path.parent.name] for path in added})
    names = [path.stem for path in added]
    done = run(checkout, "pytest", "-v", "-p", "no:cacheprovider", *tests, "-k", " or ".join(names))
    assert done.returncode == 0, done.stdout
    for name in names:
        assert re.search(rf"\[[\w-]*{name}\b[\w-]*\] PASSED", done.stdout), name
