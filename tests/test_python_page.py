"""The code of docs/python.md and docs/pytest.md runs, and does what the pages say."""

import re
import sys
from pathlib import Path

import pytest

import leakgauge
from inner_pytest import run_inner_tests

pytest_plugins = ["pytester"]
DOCS = Path(__file__).parents[1] / "docs"


def blocks(page, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.nightly
def test_the_code_on_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python.md"):
        exec(compile(block, "python.md", "exec"), names)
    assert Path("report.html").stat().st_size > 100_000
    assert names["chart"].to_dict()["width"] == 520
    assert len(names["table"]) == sum(len(one.metrics) for one in names["result"])
    assert capsys.readouterr().out.splitlines() == ["over undecided", "not violated", "over 1", "over"]


def test_every_call_in_the_table_exists():
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`leakgauge\.(\w+)\(", text))
    assert {"audit_counts", "audit_queries", "audit_mechanism", "audit_model", "audit_training"} <= named
    assert named <= set(leakgauge.__all__)


@pytest.fixture
def run(pytester, monkeypatch):
    pytester.makepyfile(test_noise="\n\n".join(blocks("pytest.md")))
    return lambda *more: run_inner_tests(pytester, monkeypatch, "test_noise.py", *more)


def test_the_tests_on_pytest_pass_and_fail_as_it_says(run):
    result = run("--leakgauge-scale=0.1")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["noisy_count breaks its promise of epsilon = 1."])


def test_a_package_whose_first_file_cannot_be_imported_is_entered_by_hand(tmp_path, monkeypatch):
    """As diffprivlib beside a recent scikit-learn: the code on the page reaches its mechanisms."""
    folder = tmp_path / "diffprivlib"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('DOUBLE')")
    (folder / "mechanisms.py").write_text("Geometric = Laplace = Snapping = 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "diffprivlib.mechanisms", None)  # forgotten afterwards, and so is
    monkeypatch.delitem(sys.modules, "diffprivlib.mechanisms")
    monkeypatch.setitem(sys.modules, "diffprivlib", None)  # the package
    monkeypatch.delitem(sys.modules, "diffprivlib")
    (code,) = blocks("pytest.md", "py")
    names = {}
    exec(compile(code, "pytest.md", "exec"), names)
    assert names["Laplace"] == 1


@pytest.mark.nightly
def test_the_failure_on_pytest_is_shown_word_for_word(run):
    (shown,) = blocks("pytest.md", "text")
    result = run("-k", "test_noisy_count")
    result.assert_outcomes(failed=1, deselected=3)
    assert shown.splitlines() == [line for line in result.outlines if line in shown.splitlines()]
