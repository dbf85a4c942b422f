import json
import os

import pytest

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.papers import reproduction
from leakgauge.papers.comparison import Agreement
from leakgauge.papers.paper import ItemResult, PaperItem, PaperRun, Scale, Scope
from leakgauge.papers.reproduction import ItemPlayer, reproduce
from leakgauge.runner.run import EngineOptions

PLAN = """
[[audit]]
name = "{name}"
domain = "blackbox"
rounds = 100
block = 100
challenger = {{ pair = [[0.0], [1.0]] }}
mechanism = {{ name = "laplace", epsilon = 4.0 }}
attacks = [{{ name = "one_threshold", knowledge = "law" }}]
"""
SHARED = PaperRun(name="common", plan=lambda scope: PLAN.format(name="shared"))


def item(own=False):
    plan = (lambda scope: PLAN.format(name="own")) if own else None
    return PaperItem(title="it", about="it", show=lambda played: ItemResult(()), plan=plan, shares=(SHARED,))


@pytest.fixture
def stage(tmp_path):
    return ItemPlayer(folder=tmp_path, scope=Scope(scale=Scale.QUICK), seed=7, hands=EngineOptions())


def test_what_items_share_is_played_once(stage, monkeypatch, tmp_path):
    folders = []

    def carry_out(plan, folder, hands, play=reproduction.run_plan):
        folders.append(folder.name)
        return play(plan, folder, hands)

    monkeypatch.setattr(reproduction, "run_plan", carry_out)
    first = stage.play(stage.plans("figure_1", item()))
    both = stage.play(stage.plans("figure_2", item(own=True)))
    assert folders == ["common-quick", "figure_2-quick"]
    assert [verdict.audit for verdict in both.verdicts] == ["own", "shared"]
    assert both.verdicts[1] is first.verdicts[0]
    assert list(both.plans) == ["figure_2", "common"]
    assert (tmp_path / "plans" / "common-quick.toml").read_text() == both.plans["common"]


def test_an_item_of_theory_alone_plays_nothing(stage, tmp_path):
    theory = PaperItem(title="it", about="it", show=lambda played: ItemResult(()))
    played = stage.play(stage.plans("figure_1", theory))
    assert played.verdicts == ()
    assert played.rounds == 0
    assert not list(tmp_path.iterdir())


def test_a_plan_that_cannot_be_written_names_its_item(stage):
    needy = PaperItem(
        title="it", about="it", show=lambda played: ItemResult(()), plan=lambda scope: str(scope.need_data())
    )
    with pytest.raises(BadInput, match="figure_9: this item needs real data"):
        stage.plans("figure_9", needy)


def test_a_run_can_be_played_again_with_another_seed_and_left_out_at_a_scale(stage):
    runs = [
        PaperRun(name=f"it_{i}", plan=lambda _, i=i: PLAN.format(name="x") if i < 2 else "", further=i)
        for i in range(3)
    ]
    again = PaperItem(title="it", about="it", show=lambda played: ItemResult(()), shares=tuple(runs))
    plans = stage.plans("figure_1", again)
    assert [plan.partition("\n")[0] for plan in plans.values()] == ["seed = 7", "seed = 8"]


FIELDS = ["paper", "item", "setting", "published", "ours", "low", "high", "verdict", "reason"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def test_a_figure_is_played_and_compared(folder):
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


def test_theory_alone_needs_no_run(folder):
    reproduce("tiny26", only="table_1", out=folder)
    cells = json.loads((folder / "reproduction.json").read_text())["cells"]
    assert [(cell["verdict"], cell["published"], cell["low"], cell["high"]) for cell in cells] == [
        ("differs", 0.4, 0.5, 0.5), ("not comparable", None, 1 / 3, 1 / 3),
    ]  # fmt: skip
    assert all(cell["reason"] for cell in cells)
    assert sorted(path.name for path in folder.iterdir()) == ["reproduction.html", "reproduction.json"]


def test_what_was_stopped_is_continued(folder):
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


def test_quick_and_full_live_side_by_side(folder):
    reproduce("tiny26", only="figure_1", out=folder)
    made = reproduce("tiny26", only="figure_1", scale="full", out=folder)
    assert made.items[0].played.rounds == 800
    assert sorted(path.name for path in (folder / "runs").iterdir()) == ["figure_1-full", "figure_1-quick"]


def test_the_seed_decides_everything(tmp_path):
    found = [
        reproduce("tiny26", only="figure_1", out=tmp_path / name, seed=seed).to_json()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert found[0] == found[1] != found[2]


def test_the_usual_folder_is_under_runs(tmp_path):
    made = reproduce("tiny26", only="table_1")
    assert (tmp_path / made.page).samefile(tmp_path / "runs" / "reproduce-tiny26" / "reproduction.html")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": "huge"}, "scale: no choice is called 'huge'; known: quick, full"),
        ({"only": "figure_2"}, "did you mean 'figure_1'"),
        ({"data": "nowhere"}, "--data nowhere: no such folder"),
        ({"seed": -1}, "seed must be"),
        ({"engine": "lokal"}, "'lokal'"),
        ({"workers": 0}, "workers"),
        ({"only": None}, "table_2: this item needs real data"),
        ({"only": "table_2"}, "table_2: this item needs real data; name its folder with --data DIR"),
    ],
)
def test_bad_input_stops_before_anything_is_written(given, message, folder):
    with pytest.raises(BadInput, match=message):
        reproduce("tiny26", out=folder, **({"only": "figure_1"} | given))
    assert not folder.exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        reproduce("tiny26", only="table_1", out=tmp_path / "out")
