"""The page on DP trainings: its Python runs, and its plans are those of the example."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dp-training.md"
EXAMPLE = ROOT / "examples" / "dp-training"
NUMBER = r"\d+(?:\.\d+)?"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_plans_of_the_page_are_those_of_the_example():
    plan = {audit["name"]: audit for audit in tomllib.loads((EXAMPLE / "plan.toml").read_text())["audit"]}
    shown = [audit for text in blocks("toml") for audit in tomllib.loads(text)["audit"]]
    assert len(shown) == 2
    for audit in shown:
        assert audit == plan[audit["name"]]


def test_audit_of_the_own_script_finds_the_bug(monkeypatch, capsys):
    pytest.importorskip("opacus", reason="Opacus is not installed")
    monkeypatch.syspath_prepend(EXAMPLE)
    exec(compile(blocks("python")[0], PAGE.name, "exec"), {})
    finding, *evidence = capsys.readouterr().out.splitlines()
    assert finding == "violated True"
    stated = " ".join(PAGE.read_text().replace("\n>", "").split())
    found = evidence[0].partition(" (by chance")[0]
    (shown,) = re.findall(re.escape(re.sub(NUMBER, "#", found)).replace(r"\#", NUMBER), stated)
    numbers = [[float(one) for one in re.findall(NUMBER, text)] for text in (shown, found)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.03)  # other machines


def test_loop_written_by_hand_is_not_accused(capsys):
    exec(compile(blocks("python")[1], PAGE.name, "exec"), {})
    assert capsys.readouterr().out == "not violated\n"


def test_command_of_the_page_runs_the_example():
    assert blocks("bash") == ["leakgauge run examples/dp-training/plan.toml\n"]  # run by test_documents
