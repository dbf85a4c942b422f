import json
import os
from dataclasses import replace

import pytest

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.papers import reproduction
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.paper import ItemResult, PaperItem, PaperRun, Scale, Scope
from leakgauge.papers.reproduction import ItemRunner, reproduce
from leakgauge.plan import read_plan
from leakgauge.runner.run import EngineOptions


def audit(name):
    return {
        "name": name,
        "domain": "blackbox",
        "rounds": 100,
        "block": 100,
        "challenger": {"pair": [[0.0], [1.0]]},
        "mechanism": {"name": "laplace", "epsilon": 4.0},
        "attacks": [{"name": "one_threshold", "knowledge": "law"}],
    }


SHARED = PaperRun(name="common", audits=lambda scope: [audit("shared")])


def item(**fields):
    return PaperItem(title="it", about="it", show=lambda played: ItemResult(()), **fields)


@pytest.fixture
def runner(tmp_path):
    return ItemRunner(folder=tmp_path, scope=Scope(scale=Scale.QUICK), seed=7, engine=EngineOptions())


def test_shared_runs_are_simulated_once(runner, monkeypatch, tmp_path):
    folders = []

    def recorded_run(plan, folder, engine, *, run=reproduction.run_plan, **settings):
        folders.append(folder.name)
        return run(plan, folder, engine, **settings)

    monkeypatch.setattr(reproduction, "run_plan", recorded_run)
    first = runner.play(runner.plans("figure_1", item(shared_runs=(SHARED,))))
    own = item(audits=lambda scope: [audit("own")], shared_runs=(SHARED,))
    both = runner.play(runner.plans("figure_2", own))
    assert folders == ["common-quick", "figure_2-quick"]
    assert [verdict.audit for verdict in both.verdicts] == ["own", "shared"]
    assert both.verdicts[1] is first.verdicts[0]
    assert list(both.plans) == ["figure_2", "common"]
    assert read_plan(tmp_path / "plans" / "common-quick.toml").audits == both.plans["common"].audits


@pytest.mark.parametrize("fresh", [False, True])
def test_runs_of_one_name_need_equal_plans(runner, fresh):
    runner = replace(runner, fresh=fresh)
    runner.play(runner.plans("figure_1", item(shared_runs=(SHARED,))))
    other = PaperRun(name="common", audits=lambda scope: [audit("other")])
    with pytest.raises(BadInput, match=r"holds another run: .* was 'shared', is 'other'"):
        runner.play(runner.plans("figure_2", item(shared_runs=(other,))))


def test_theory_item_runs_nothing(runner, tmp_path):
    played = runner.play(runner.plans("figure_1", item()))
    assert played.verdicts == ()
    assert played.rounds == 0
    assert not list(tmp_path.iterdir())


def test_invalid_plan_names_its_item(runner):
    with pytest.raises(BadInput, match="figure_9: this item needs real data"):
        runner.plans("figure_9", item(audits=lambda scope: scope.need_data()))


def test_run_may_have_other_seed_or_be_skipped_at_a_scale(runner):
    runs = [
        PaperRun(name=f"it_{i}", audits=lambda _, i=i: [audit("x")] if i < 2 else [], seed_offset=i)
        for i in range(3)
    ]
    plans = runner.plans("figure_1", item(shared_runs=tuple(runs)))
    assert {name: plan.seed for name, plan in plans.items()} == {"it_0": 7, "it_1": 8}


FIELDS = ["paper", "item", "setting", "published", "ours", "low", "high", "exact", "verdict", "reason"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def test_figure_is_simulated_and_compared(folder):
    made = leakgauge.reproduce("tiny26", only="figure_1", out=folder)
    (cell,) = json.loads((folder / "reproduction.json").read_text())["cells"]
    assert list(cell) == FIELDS
    assert cell["paper"] == "tiny26"
    assert cell["item"] == "figure_1"
    assert cell["published"] == 0.93
    assert cell["low"] < 0.9323 < cell["high"]  # 1 - e^-2 / 2
    assert cell["verdict"] == "agrees"
    assert made.count(Agreement.AGREES) == 1
    assert (folder / "runs" / "figure_1-quick" / "verdicts.json").exists()
    assert (folder / "plans" / "figure_1-quick.toml").read_text().startswith("seed = 20240501\n")


def test_theory_item_needs_no_run(folder):
    reproduce("tiny26", only="table_1", out=folder)
    cells = json.loads((folder / "reproduction.json").read_text())["cells"]
    assert [(cell["verdict"], cell["published"], cell["low"], cell["high"]) for cell in cells] == [
        ("differs", 0.4, 0.5, 0.5), ("ours only", None, 1 / 3, 1 / 3), ("not simulated", 0.2, None, None),
    ]  # fmt: skip
    assert all(cell["reason"] for cell in cells)
    assert sorted(path.name for path in folder.iterdir()) == [
        "items",
        "reproduction.html",
        "reproduction.json",
    ]


def test_interrupted_reproduction_continues(folder):
    reproduce("tiny26", only="figure_1", out=folder)
    first = (folder / "reproduction.json").read_bytes()
    blocks = sorted(folder.rglob("block-*"))
    assert len(blocks) == 4
    for block in blocks:
        os.utime(block, ns=(1, 1))
    blocks[1].unlink()
    (folder / "reproduction.json").unlink()
    reproduce("tiny26", only="figure_1", out=folder)
    assert [block.stat().st_mtime_ns == 1 for block in blocks] == [True, False, True, True]
    assert (folder / "reproduction.json").read_bytes() == first


def test_fresh_starts_over(folder):
    reproduce("tiny26", only="figure_1", out=folder, seed=1)
    with pytest.raises(BadInput, match=r"plan.seed was 1, is 2; choose another --out .* with --fresh"):
        reproduce("tiny26", only="figure_1", out=folder, seed=2)
    made = reproduce("tiny26", only="figure_1", out=folder, seed=2, fresh=True)
    assert made.to_json() == reproduce("tiny26", only="figure_1", out=folder.parent / "new", seed=2).to_json()


def test_fresh_leaves_the_runs_of_another_scale_alone(folder):
    reproduce("tiny26", only="figure_1", scale="full", out=folder)
    full = {path: path.stat().st_mtime_ns for path in (folder / "runs" / "figure_1-full").rglob("block-*")}
    reproduce("tiny26", only="figure_1", out=folder, fresh=True)
    assert full
    assert {path: path.stat().st_mtime_ns for path in full} == full


def test_quick_and_full_results_are_kept_separately(folder):
    reproduce("tiny26", only="figure_1", out=folder)
    made = reproduce("tiny26", only="figure_1", scale="full", out=folder)
    assert made.items[0].played.rounds == 800
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["figure_1-full", "figure_1-quick"]


def test_items_reproduced_later_are_added(folder):
    reproduce("tiny26", only="table_1", out=folder)
    made = reproduce("tiny26", only="figure_1", scale="full", out=folder)
    assert [item.name for item in made.items] == ["figure_1"]
    cells = json.loads((folder / "reproduction.json").read_text())["cells"]
    assert [cell["item"] for cell in cells] == ["figure_1", *["table_1"] * 3]  # as in the paper
    page = made.page.read_text()
    assert 'id="figure-1"' in page
    for text in ("Figure 1: one cell", "&lt;why&gt;", "figure_1 full, table_1 quick", "--only table_1"):
        assert text in page
    assert page.index("Figure 1: one cell") < page.index("Table 1")
    reproduce("tiny26", only="figure_1", out=folder)
    again = json.loads((folder / "reproduction.json").read_text())["cells"]
    assert [cell["item"] for cell in again] == ["figure_1", *["table_1"] * 3]
    assert again[0] != cells[0]
    assert again[1:] == cells[1:]


def test_folder_of_another_paper_or_version_is_refused(folder):
    reproduce("tiny26", only="table_1", out=folder)
    with pytest.raises(BadInput, match="holds a reproduction of tiny26; choose another --out"):
        reproduce("huang", only="table_1", out=folder)
    (folder / "items" / "table_1.json").write_text('{"paper": "tiny26"}')
    with pytest.raises(BadInput, match=r"table_1.json: not an item .* remove the file"):
        reproduce("tiny26", only="figure_1", out=folder)


def test_seed_determines_the_result(tmp_path):
    found = [
        reproduce("tiny26", only="figure_1", out=tmp_path / name, seed=seed).to_json()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert found[0] == found[1] != found[2]


def test_default_folder_is_under_runs(tmp_path):
    made = reproduce("tiny26", only="table_1")
    assert (tmp_path / made.page).samefile(tmp_path / "runs" / "reproduce-tiny26" / "reproduction.html")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": "huge"}, "scale: no choice is called 'huge'; known: quick, full"),
        ({"only": "figure_2"}, "did you mean 'figure_1'"),
        ({"data": "nowhere"}, "data: nowhere: no such folder"),
        ({"seed": -1}, "seed must be"),
        ({"engine": "lokal"}, "'lokal'"),
        ({"workers": 0}, "workers"),
        ({"only": None}, "table_2: this item needs real data"),
        ({"only": "table_2"}, "table_2: this item needs real data; name its folder"),
    ],
)
def test_bad_input_writes_nothing(given, message, folder):
    with pytest.raises(BadInput, match=message):
        reproduce("tiny26", out=folder, **({"only": "figure_1"} | given))
    assert not folder.exists()


def test_rejects_file_as_output_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        reproduce("tiny26", only="table_1", out=tmp_path / "out")
