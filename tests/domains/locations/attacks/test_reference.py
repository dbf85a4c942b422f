import pickle

import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town, traces
from domains.locations.threshold_games import alone_with, play_out, same_halves
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations.attacks import one_threshold
from leakgauge.domains.locations.attacks.reference import Attack
from leakgauge.domains.locations.knowledge import build
from leakgauge.support.user_code import UserCodeLoader

SEVERAL = {"targets": {"n": 5, "min_visits": 3}, "group_size": 30}
PARAMETERS = {"partial": {"theta": 0.3}, "friends": {"friends": 3}, "zero": {"trace": 0.8}}


def study(challenger, attack, knowledge="auxiliary", target=0):
    known = build(knowledge, {}, challenger, seed=1)
    return known, attack.study(known, stream(1, Role.STUDY)).score.target_rules[target]


@pytest.mark.parametrize("cells", ["target", "all"])
def test_score_uses_target_minus_reference(cells):
    """One kind of other people: whoever is the reference, its trace is known."""
    other = [0, 1, 1, 0, 0, 1]
    people = traces([[1, 1, 0, 1, 1, 0], *([other] * 60)])
    challenger = game(people, LAPLACE, targets={"n": 1, "min_visits": 4})
    _, target_rule = study(challenger, Attack(cells=cells))
    toward = np.array([1.0, 1, 0, 1, 1, 0]) - other
    if cells == "target":
        assert target_rule.cells.tolist() == [0, 1, 3, 4]
    else:
        assert target_rule.cells.tolist() == [0, 2, 3, 4, 5]  # both visit cell 1: it says nothing
    np.testing.assert_array_equal(target_rule.rule.weights, toward[target_rule.cells])


@pytest.mark.parametrize("references", [1, 7, "all"])
def test_several_references_are_averaged(references):
    challenger = game(town(200), RAW, **SEVERAL)
    known, target_rule = study(challenger, Attack(references=references), target=2)
    sketch = known.sketches[2]
    usual = sketch.weights - target_rule.rule.weights
    n = known.reference.n_people if references == "all" else references
    np.testing.assert_allclose(usual * n, np.round(usual * n), atol=1e-9)
    if references == "all":
        np.testing.assert_allclose(usual, known.visitors[sketch.cells] / n)


def test_empty_reference_equals_one_threshold():
    challenger = alone_with(20, 30)
    reference, sums = (
        play_out(challenger, attack, "auxiliary", rounds=1_000)
        for attack in (Attack(), one_threshold.Attack(shadows=2_000))
    )
    assert reference.auc == pytest.approx(sums.auc, abs=1e-12)
    assert reference.accuracy == pytest.approx(sums.accuracy, abs=0.02)


def test_many_references_are_no_worse_than_one():
    rng = np.random.default_rng(1)
    visits = rng.random((400, 30)) < 0.3
    challenger = same_halves(visits, rng.random((1, 30)) < 0.7, LAPLACE, group_size=20)
    one, many = (
        play_out(challenger, Attack(references=n, cells="all"), "informed", rounds=2_000) for n in (1, "all")
    )
    assert many.auc > one.auc > 0.7


def test_references_are_excluded_from_shadows():
    """Half of 60 people visit the cell; if one who does not is the reference, all others are in shadows."""
    visits = (np.arange(60) < 30)[:, None]
    known = build("auxiliary", {}, same_halves(visits, np.ones((1, 1)), RAW, group_size=60), seed=1)
    rules = [Attack().study(known, stream(seed, Role.STUDY)).score.target_rules[0].rule for seed in range(8)]
    thresholds = [float(rule.threshold) for rule in rules if rule.weights.all()]
    assert len(thresholds) > 1
    assert thresholds == [30.5] * len(thresholds)


def test_references_may_be_in_shadows_when_people_are_scarce():
    visits = (np.arange(60) < 30)[:, None]
    known = build(
        "auxiliary", {}, same_halves(visits, np.ones((1, 1)), RAW, group_size=61, reference=61), seed=1
    )
    for references in (1, "all"):
        rule = Attack(references=references).study(known, stream(3, Role.STUDY)).score.target_rules[0].rule
        assert rule.threshold == pytest.approx(30.5 * rule.weights[0], abs=1e-6)


@pytest.mark.parametrize("knowledge", Attack.accepts)
@pytest.mark.parametrize("cells", ["target", "all"])
def test_works_with_every_accepted_knowledge(knowledge, cells):
    challenger = game(town(300, density=0.08), {"name": "laplace", "epsilon": 3.0}, **SEVERAL)
    attack = Attack(references="all", cells=cells, shadows=400)
    found = play_out(challenger, attack, knowledge, PARAMETERS.get(knowledge), rounds=400, block=200)
    assert np.isfinite(found.scores).all()
    assert found.auc > (0.5 if knowledge == "friends" else 0.6)
    copy = pickle.loads(pickle.dumps(found.scorer))
    assert copy.reading == found.scorer.reading


def test_target_fpr_is_approximately_kept():
    rng = np.random.default_rng(1)
    challenger = same_halves(rng.random((600, 20)) < 0.2, np.ones((1, 20)), LAPLACE, group_size=60)
    found = play_out(challenger, Attack(fpr=0.1, references=20), "auxiliary", rounds=4_000)
    assert found.fpr == pytest.approx(0.1, abs=0.025)
    assert not found.scorer.reading.signed


def test_user_pipeline_uses_shadows(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts + rng.normal(size=counts.shape)\n")
    own = {"name": "own", "release": "mine:publish"}
    challenger = game(town(200), own, loader=UserCodeLoader(tmp_path), group_size=30)
    assert play_out(challenger, Attack(shadows=200), "auxiliary", rounds=200, block=200).auc > 0.6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"references": 0}, "references must be"),
        ({"references": 1_000}, "has 29 traces"),
        ({"fpr": 0.0}, "fpr must be"),
        ({"shadows": 9}, "shadows must be >= 10"),
    ],
)
def test_rejects_invalid_settings(parameters, message):
    known = build("auxiliary", {}, game(town(), RAW), seed=1)
    with pytest.raises(BadInput, match=message):
        Attack(**parameters).study(known, stream(1, Role.STUDY))


def test_attack_has_description():
    assert set(Attack.accepts) == set(DOMAIN.knowledge_terms) - {"past"}  # it needs traces
    assert pickle.loads(pickle.dumps(Attack(references=3))) == Attack(references=3)
