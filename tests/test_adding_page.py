"""The code of docs/adding.md, copied into the package, passes ruff, mypy and the conformance tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from documented_names import ROOT

PAGE = ROOT / "docs" / "adding.md"
FILES = dict(
    re.findall(r"^In `([\w/.-]+)`[^\n]*:\n\n```\w+\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
)
SOURCES = [path for path in FILES if path.startswith("src/")]
CONFORMANCE = {  # by the folder of what is added
    "attacks": "tests/test_conformance.py",
    "metrics": "tests/test_conformance.py",
    "trainers": "tests/domains/models/training/test_trainers.py",
    "mechanisms": "tests/mechanisms/test_conformance.py",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the package and its tests, with the files of the page in it and nothing else changed."""
    folder = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    known = ROOT / ".mypy_cache"  # of files that are as they were; the lint before the tests leaves it
    if known.is_dir():
        shutil.copytree(known, folder / known.name)
    for name, text in FILES.items():
        path = folder / name
        assert not path.exists(), f"{name} is not new"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def run(checkout, module, *arguments):
    """Run a Python module in the copy."""
    return run_python(checkout, "-m", module, *arguments)


def run_code(checkout, code):
    """Run some Python code in the copy."""
    return run_python(checkout, "-c", code)


def run_python(checkout, *arguments):
    """Run Python in the copy; the package there comes before any installed one."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_all_code_of_page_is_copied():
    assert len(FILES) == PAGE.read_text().count("```python")
    assert all(name.endswith(".py") for name in FILES)


def test_ruff_accepts_code(checkout):
    for command in (["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]):
        done = run(checkout, *command, *FILES)
        assert done.returncode == 0, done.stdout


def test_mypy_accepts_code(checkout):
    done = run(checkout, "mypy", *SOURCES)
    assert done.returncode == 0, done.stdout


def test_conformance_finds_and_accepts_added_files(checkout):
    added = [
        path for path in map(Path, SOURCES) if path.parent.name in CONFORMANCE and path.stem != "__init__"
    ]
    tests = sorted({CONFORMANCE[path.parent.name] for path in added})
    names = [path.stem for path in added]
    done = run(checkout, "pytest", "-v", "-p", "no:cacheprovider", *tests, "-k", " or ".join(names))
    assert done.returncode == 0, done.stdout
    for name in names:
        assert re.search(rf"\[[\w-]*{name}\b[\w-]*\] PASSED", done.stdout), name


def test_added_mechanism_is_offered_in_four_domains(checkout):
    code = (
        "from leakgauge import catalog\n"
        "for name in ('blackbox', 'locations', 'queries', 'federated'):\n"
        "    print('hyperbolic_secant' in catalog.describe('mechanisms', name))"
    )
    assert run_code(checkout, code).stdout.split() == ["True"] * 4


def test_import_contracts_hold_with_added_files(checkout):
    done = run_python(checkout, "-c", "from importlinter.cli import lint_imports_command as c; c()")
    assert done.returncode == 0, done.stdout
    assert "domains are independent KEPT" in done.stdout


def test_added_domain_runs_and_is_reported(checkout):
    plan = {
        "seed": 1,
        "audit": [
            {
                "name": "yes",
                "domain": "surveys",
                "rounds": 1_000,
                "mechanism": {"name": "hyperbolic_secant", "epsilon": 1.0},
            }
        ],
    }
    code = f"import leakgauge; (one,) = leakgauge.run({plan!r}, out='surveys'); print(one.label, one.finding)"
    done = run_code(checkout, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["excess-informed", "not", "violated"]
    report = (checkout / "surveys" / "report.html").read_text()
    assert "Gini coefficient" in report


def test_added_paper_can_be_reproduced(checkout):
    code = "import leakgauge; print(*(cell.verdict for cell in leakgauge.reproduce('dwork14').cells))"
    done = run_code(checkout, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["agrees", "ours", "only"]
    assert (checkout / "runs" / "reproduce-dwork14" / "reproduction.html").exists()
