"""What attacks on models make of members, of others, and of records that no model was trained on."""

import cloudpickle
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from domains.models.memorizing_models import network, play, table, tpr_at
from leakgauge.domains.models.attacks import calibrated_loss, lira, loss_threshold, rmia, shadow
from leakgauge.domains.models.knowledge import TrainingLossKnowledge
from leakgauge.domains.models.release import TrainingLossView
from leakgauge.domains.models.training.trainer import Examples

ATTACKS = {
    "average": loss_threshold.Attack(),
    "optimal": loss_threshold.Attack(threshold="optimal"),
    "calibrated": calibrated_loss.Attack(),
    "lira online": lira.Attack(),
    "lira offline": lira.Attack(mode="offline"),
    "rmia online": rmia.Attack(),
    "rmia offline": rmia.Attack(mode="offline"),
    "shadow": shadow.Attack(features="log_probabilities"),
}
OFFLINE = [name for name in ATTACKS if "online" not in name]


def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def fixed():
    return play(10, fixed=True, seed=1)


@pytest.fixture(scope="module")
def fresh():
    return play(4, fixed=False, seed=2)


@pytest.fixture(scope="module")
def untouched():
    """Targets that are known, and models none of which was trained on any of them."""
    rows, trainer = table(3_000, rng(3)), network(200)
    trained_on = rows.take(np.arange(2_000, 3_000))
    models = [trainer.fit(trained_on.take(rng(i).permutation(1_000)[:200]), rng(i)) for i in range(6)]
    targets, reference = rows.take(np.arange(400)), rows.take(np.arange(400, 2_000))
    known = TrainingLossKnowledge(reference=reference, n_members=200, trainer=trainer, targets=targets)
    return known, TrainingLossView(models, [targets] * 6, np.zeros(6))


@pytest.mark.parametrize("name", ATTACKS)
def test_members_of_memorizing_models_are_found(fixed, name):
    scores = ATTACKS[name].study(fixed.knowledge, rng(5)).score(fixed.seen, rng(6))
    assert scores.shape == fixed.members.shape
    assert np.isfinite(scores).all()
    assert roc_auc_score(fixed.members.ravel(), scores.ravel()) > 0.75


@pytest.mark.parametrize("name", OFFLINE)
def test_members_are_found_with_fresh_targets(fresh, name):
    scores = ATTACKS[name].study(fresh.knowledge, rng(5)).score(fresh.seen, rng(6))
    assert roc_auc_score(fresh.members.ravel(), scores.ravel()) > 0.75


@pytest.mark.parametrize("name", ATTACKS)
def test_unused_records_are_not_separated_by_position(untouched, name):
    knowledge, seen = untouched
    scores = ATTACKS[name].study(knowledge, rng(5)).score(seen, rng(6)).mean(axis=0)
    first = np.arange(400) < 200
    error = np.sqrt(401 / (12 * 200 * 200))  # of an AUC without any difference (Mann and Whitney 1947)
    assert abs(roc_auc_score(first, scores) - 0.5) < 3.3 * error
    assert abs(roc_auc_score(first[rng(7).permutation(400)], scores) - 0.5) < 3.3 * error


@pytest.mark.parametrize("name", ["rmia online", "rmia offline"])
def test_unused_records_beat_half_of_population(untouched, name):
    knowledge, seen = untouched
    scores = ATTACKS[name].study(knowledge, rng(5)).score(seen, rng(6)).mean(axis=0)
    assert scores.mean() == pytest.approx(0.5, abs=4 * scores.std() / np.sqrt(400))


@pytest.mark.parametrize("variance", ["own", "shared"])
def test_offline_lira_scores_of_unused_records_are_standardised(untouched, variance):
    knowledge, seen = untouched
    attack = lira.Attack(mode="offline", variance=variance)
    scores = attack.study(knowledge, rng(5)).score(seen, rng(6))
    assert abs(scores.mean()) < 0.15
    assert 0.9 < scores.std() < 1.2


@pytest.mark.parametrize("name", OFFLINE)
def test_scores_follow_their_records(fresh, name):
    scorer = ATTACKS[name].study(fresh.knowledge, rng(5))
    mixed = rng(8).permutation(100)
    turned = TrainingLossView(
        fresh.seen.models, [shown.take(mixed) for shown in fresh.seen.shown], fresh.seen.mean_losses
    )
    scores, again = (scorer.score(seen, rng(6)) for seen in (fresh.seen, turned))
    np.testing.assert_allclose(again, scores[:, mixed], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ATTACKS)
def test_knowledge_is_unchanged_and_scorer_can_be_pickled(fixed, name):
    given = fixed.knowledge
    reference, targets = (
        Examples(some.rows.copy(), some.labels.copy(), some.classes)
        for some in (given.reference, given.targets)
    )
    for array in (reference.rows, reference.labels, targets.rows, targets.labels):
        array.setflags(write=False)
    known = TrainingLossKnowledge(reference=reference, n_members=200, trainer=given.trainer, targets=targets)
    seen = TrainingLossView(fixed.seen.models[:1], [targets], fixed.seen.mean_losses[:1])
    scorer = ATTACKS[name].study(known, rng(5))
    travelled = cloudpickle.loads(cloudpickle.dumps(scorer))
    np.testing.assert_array_equal(scorer.score(seen, rng(6)), travelled.score(seen, rng(7)))


@pytest.mark.nightly
def test_lira_and_rmia_beat_loss_threshold_at_low_fpr():
    # Several tables: which few records are easy for any model decides how the loss does on one of them.
    compared = [name for name in ATTACKS if name not in ("calibrated", "shadow")]
    scores, members = {name: [] for name in compared}, []
    for seed in range(4):
        game = play(10, fixed=True, seed=seed)
        members.append(game.members)
        for name in compared:
            scores[name].append(ATTACKS[name].study(game.knowledge, rng(5)).score(game.seen, rng(6)))
    found = {name: tpr_at(np.array(scores[name]), np.array(members), 0.01) for name in compared}
    loss = max(found["average"], found["optimal"])
    assert found["lira online"] > 2 * loss, found
    for name in ("lira offline", "rmia online", "rmia offline"):
        assert found[name] > 1.2 * loss, found
