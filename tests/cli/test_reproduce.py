import json
from pathlib import Path

import pytest

import leakgauge.papers


@pytest.fixture(autouse=True)
def _tiny_paper(monkeypatch):
    more = str(Path(__file__).parents[1] / "papers" / "more")
    monkeypatch.setattr(leakgauge.papers, "__path__", [*leakgauge.papers.__path__, more])


def test_prints_differences_with_reasons_and_page_path(call, tmp_path):
    outcome = call("reproduce", "tiny26", "--only", "table_1")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        (
            "tiny26: 0 agrees, 1 differs, 0 undecided, 0 no number printed, 0 other data, 1 not simulated, "
            "1 ours only"
        ),
        "Table 1",
        "  differs: one half: 0.5000. Published: 0.4000, text. <why>",
        "Page: runs/reproduce-tiny26/reproduction.html",
    ]
    assert (tmp_path / "runs" / "reproduce-tiny26" / "reproduction.html").exists()


def test_json_output_equals_the_written_file(call, tmp_path):
    outcome = call("reproduce", "tiny26", "--only", "table_1", "--out", "here", "--json")
    assert json.loads(outcome.out) == json.loads((tmp_path / "here" / "reproduction.json").read_text())


def test_reproduces_a_simulated_figure(call, tmp_path):
    outcome = call("reproduce", "tiny26", "--only", "figure_1", "--scale", "full", "--seed", 3, "--json")
    (cell,) = json.loads(outcome.out)["cells"]
    assert outcome.err == ""
    assert cell["low"] < cell["ours"] < cell["high"]
    plan = tmp_path / "runs" / "reproduce-tiny26" / "plans" / "figure_1-full.toml"
    assert plan.read_text().startswith("seed = 3\n")


def test_fresh_replaces_a_run_that_has_another_seed(call):
    words = ("reproduce", "tiny26", "--only", "figure_1", "--json")
    first = call(*words, "--seed", 3)
    refused = call(*words, "--seed", 4)
    assert refused.code == 2
    assert "with --fresh" in refused.err
    other = call(*words, "--seed", 4, "--fresh")
    assert other.code == 0
    assert json.loads(other.out)["cells"] != json.loads(first.out)["cells"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiny"], "no paper is called 'tiny'; did you mean 'tiny26'? papers: "),
        (["tiny26", "--only", "figure_7"], "did you mean 'figure_1'? items: figure_1, table_1, table_2"),
        (["tiny26", "--only", "table_2"], "needs real data; name its folder (--data DIR, in"),
        (["tiny26", "--data", "nowhere"], "data: nowhere: no such folder"),
    ],
)
def test_bad_input_exits_with_code_2(call, words, message, tmp_path):
    outcome = call("reproduce", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()
