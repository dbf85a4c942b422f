import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers import playing
from leakgauge.papers.paper import Item, Run, Scale, Scope, Shown
from leakgauge.papers.playing import Stage
from leakgauge.runner.run import Hands

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
SHARED = Run(name="common", plan=lambda scope: PLAN.format(name="shared"))


def item(own=False):
    plan = (lambda scope: PLAN.format(name="own")) if own else None
    return Item(title="it", about="it", show=lambda played: Shown(()), plan=plan, shares=(SHARED,))


@pytest.fixture
def stage(tmp_path):
    return Stage(folder=tmp_path, scope=Scope(scale=Scale.QUICK), seed=7, hands=Hands())


def test_what_items_share_is_played_once(stage, monkeypatch, tmp_path):
    folders = []

    def carry_out(plan, folder, hands, play=playing.carry_out):
        folders.append(folder.name)
        return play(plan, folder, hands)

    monkeypatch.setattr(playing, "carry_out", carry_out)
    first = stage.play(stage.plans("figure_1", item()))
    both = stage.play(stage.plans("figure_2", item(own=True)))
    assert folders == ["common-quick", "figure_2-quick"]
    assert [verdict.audit for verdict in both.verdicts] == ["own", "shared"]
    assert both.verdicts[1] is first.verdicts[0]
    assert list(both.plans) == ["figure_2", "common"]
    assert (tmp_path / "plans" / "common-quick.toml").read_text() == both.plans["common"]


def test_an_item_of_theory_alone_plays_nothing(stage, tmp_path):
    theory = Item(title="it", about="it", show=lambda played: Shown(()))
    played = stage.play(stage.plans("figure_1", theory))
    assert played.verdicts == ()
    assert played.rounds == 0
    assert not list(tmp_path.iterdir())


def test_a_plan_that_cannot_be_written_names_its_item(stage):
    needy = Item(
        title="it", about="it", show=lambda played: Shown(()), plan=lambda scope: str(scope.need_data())
    )
    with pytest.raises(BadInput, match="figure_9: this item needs real data"):
        stage.plans("figure_9", needy)


def test_a_run_can_be_played_again_with_another_seed_and_left_out_at_a_scale(stage):
    runs = [
        Run(name=f"it_{i}", plan=lambda _, i=i: PLAN.format(name="x") if i < 2 else "", further=i)
        for i in range(3)
    ]
    again = Item(title="it", about="it", show=lambda played: Shown(()), shares=tuple(runs))
    plans = stage.plans("figure_1", again)
    assert [plan.partition("\n")[0] for plan in plans.values()] == ["seed = 7", "seed = 8"]
