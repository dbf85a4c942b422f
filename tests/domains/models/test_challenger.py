"""Models trained by the rules of a game: what is released, promised, and known."""

from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Coins, Scorer, play
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.models import knowledge
from leakgauge.domains.models.challenger import build
from leakgauge.domains.models.training.noise_calibration import DpTraining
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import cross_entropy
from leakgauge.support.progress import listen_to_progress
from leakgauge.theory.metric_bounds import humphries_advantage

DATA = {"rows": 400, "features": 5}
NOISE = {"name": "dp_sgd", "sigma": 2.0, "relation": "replace_one"}
SMALL = {"members": 60, "epochs": 2, "batch": 20, "hidden": [8]}
MIXED = {"name": "source", "group": "component", "members": "0"}


def challenger(mechanism=NOISE, **table):
    return build(data=DATA, challenger=SMALL | table, mechanism=mechanism, folder=Path(), seed=3)


def released(made, rounds=3):
    bits = made.flip(rounds, np.random.default_rng(1))
    return bits, made.release(bits, np.random.default_rng(2))


def test_empty_slot_is_not_trained_on():
    made = challenger(NOISE | {"relation": "add_remove"}, targets=5)
    _, played = released(made)
    one = next(one for one in played if not one.rows.present.all())
    blank = one.table.rows.copy()
    blank[one.rows.training[~one.rows.present]] = 0.5
    other = type(one)(type(one.table)(blank, one.table.labels, 2), one.rows, one.trainer, one.seed)
    np.testing.assert_array_equal(one.model.weights, other.model.weights)
    full = blank.copy()
    full[one.rows.training[one.rows.present]] = 0.5
    another = type(one)(type(one.table)(full, one.table.labels, 2), one.rows, one.trainer, one.seed)
    assert not np.array_equal(one.model.weights, another.model.weights)


@pytest.mark.parametrize("sampling", ["poisson", "shuffled"])
def test_training_steps_belong_to_the_released_model(sampling):
    made = challenger(game="strong", sampling=sampling)
    _, played = released(made)
    for one in played:
        for step in one.steps():
            network = step.network
            assert step.others.size == 0 or step.others.max() < 59
            assert (step.in_batch is None) == (sampling == "poisson")
        # A step's network is overwritten in place: after the last one it is that which was released.
        assert np.array_equal(network.weights, one.model.weights)


def test_release_is_reproducible_and_noise_keeps_rows():
    one, again = (released(challenger(targets=5))[1][0] for _ in range(2))
    louder = released(challenger(NOISE | {"sigma": 4.0}, targets=5))[1][0]
    np.testing.assert_array_equal(one.model.weights, again.model.weights)
    np.testing.assert_array_equal(one.rows.training, louder.rows.training)
    assert not np.array_equal(one.model.weights, louder.model.weights)


def test_losses_use_the_true_class():
    one = released(challenger(targets=5))[1][0]
    logits = one.model.logits(one.shown.rows).astype(float)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = [-np.log(chances[i, label]) for i, label in enumerate(one.shown.labels)]
    np.testing.assert_allclose(cross_entropy(one.model, one.shown), expected, rtol=1e-6)


@pytest.mark.parametrize("table", [{"game": "mixture", "targets": 5}, {"game": "group"}])
def test_mean_loss_is_over_members(table):
    one = released(challenger(dependence=MIXED, **table))[1][0]
    members = one.table.take(one.rows.training)
    assert one.mean_loss == pytest.approx(cross_entropy(one.model, members).mean())


@pytest.mark.parametrize("game", ["strong", "iid", "exchangeable"])
@pytest.mark.parametrize("relation", Relation)
def test_mean_loss_does_not_reveal_coins(game, relation):
    """A model that does not change with its members has the same mean loss whatever the coins say."""
    made = challenger(NOISE | {"relation": relation}, game=game, targets=1 if game == "strong" else 59)
    found = []
    for bits in (np.zeros(made.n_targets, dtype=bool), np.ones(made.n_targets, dtype=bool)):
        (one,) = made.release(bits[None], np.random.default_rng(2))
        vars(one)["model"] = made.release(bits[None] | True, np.random.default_rng(2))[0].model
        assert np.isin(one.rows.settled, one.rows.trained_on).all()
        always = one.table.take(one.rows.settled)
        assert len(always) == 60 - made.n_targets
        assert one.mean_loss == pytest.approx(cross_entropy(one.model, always).mean())
        found.append(one.mean_loss)
    assert found[0] == found[1]


def test_rejects_mean_loss_when_all_members_are_targets():
    made = challenger(targets=60)
    with pytest.raises(BadInput, match="all members are targets"):
        knowledge.build("training_loss", {}, made, 0).view(released(made)[1])


@pytest.mark.parametrize("game", ["strong", "iid", "exchangeable"])
def test_record_guarantee_is_that_of_the_noise(game):
    made = challenger(game=game, targets=1)
    schedule = TrainingSchedule(rows=60, batch=20, epochs=2)
    expected = DpTraining(relation=Relation.REPLACE_ONE, sigma=2.0).guarantee(schedule)
    assert made.guarantee.epsilon == pytest.approx(expected.epsilon)
    assert made.guarantee.unit is Unit.RECORD
    assert made.guarantee.sensitivity == 2.0


@pytest.mark.parametrize("table", [{"game": "mixture", "targets": 5}, {"game": "group"}])
def test_dependent_records_get_group_guarantee_with_note(table):
    made = challenger(dependence=MIXED, **table)
    record = DpTraining(relation=Relation.REPLACE_ONE, sigma=2.0).guarantee(
        TrainingSchedule(rows=60, batch=20, epochs=2)
    )
    assert made.guarantee.unit is Unit.GROUP
    assert made.guarantee.nominal_epsilon == pytest.approx(record.epsilon)
    assert made.guarantee.nominal_unit is Unit.RECORD
    # Six Gaussian steps, each moved by up to 2 x 60 clips: rho = 6 x (2 x 60 / 2)^2 / 2, of which epsilon is
    # at most rho + 2 sqrt(rho log(1 / delta)) (Bun and Steinke 2016), and more than rho where delta is small.
    rho = 6 * 60**2 / 2
    assert rho < made.guarantee.epsilon < rho + 2 * np.sqrt(rho * np.log(1e5))
    text = made.notes[1]
    assert "does not describe this risk" in text
    bound = float(humphries_advantage(record.epsilon, 1e-5))
    stated = float(text.partition("at or below ")[2].partition(";")[0])
    assert bound <= stated < bound + 1e-3  # rounded up, as in the rest of a report
    assert any("Blind control" in note for note in made.notes) == (table["game"] == "group")


@pytest.mark.parametrize("table", [{"control": True}, {"dependence": {"name": "none"}}])
def test_control_with_noise_rejects_add_remove(table):
    with pytest.raises(BadInput, match="number of members is fixed, so another row replaces"):
        challenger(NOISE | {"relation": "add_remove"}, **{"game": "group", "dependence": MIXED} | table)
    challenger({"name": "none", "relation": "add_remove"}, game="group", dependence=MIXED, control=True)


def test_group_control_has_record_guarantee():
    made = challenger(game="group", dependence=MIXED, control=True)
    assert made.guarantee.unit is Unit.RECORD
    assert made.coins is Coins.GIVEN


def test_no_noise_gives_no_guarantee():
    assert challenger({"name": "none"}).guarantee is None


def test_utility_is_model_accuracy():
    made = challenger(game="group", dependence=MIXED, validation=20)
    _, played = released(made)
    found = made.utility_of(played)
    assert set(found) == {"members", "others", "validation"}
    one = played[1]
    right = one.model.logits(one.table.rows[one.rows.others]).argmax(axis=1)
    assert found["others"][1] == np.mean(right == one.table.labels[one.rows.others])


def test_utility_and_fresh_targets_reach_trials():
    made = challenger(game="group", dependence=MIXED)
    nobody = Adversary(
        knowledge.build("black_box", {}, made, 0),
        Scorer(lambda view, rng: np.array([-cross_entropy(*pair) for pair in zip(view.models, view.shown)])),
    )
    found = play(made, {"a": nobody}, 5, range(3), 0)["a"]
    assert (found.targets == 0).all()
    assert set(found.utility) == {"members", "others"}
    assert [np.unique(found.utility["others"][found.rounds == r]).size for r in range(3)] == [1, 1, 1]


def test_training_reports_progress():
    heard = []
    with listen_to_progress(heard.append):
        _ = released(challenger(targets=5))[1][0].model
    assert heard == ["epoch 1 of 2", "epoch 2 of 2"]


def test_only_canaries_have_wrong_labels():
    plain, odd = challenger(targets=5), challenger(targets=5, mislabel=True)
    changed = np.flatnonzero(plain.table.labels != odd.table.labels)
    np.testing.assert_array_equal(changed, np.sort(plain.game.targets))
    assert any("canaries" in note for note in odd.notes)


def test_black_box_knows_fixed_targets_only():
    box = knowledge.build("black_box", {}, challenger(targets=5), 0)
    assert len(box.targets) == 5
    assert box.n_members == 60
    assert knowledge.build("black_box", {}, challenger(game="group", dependence=MIXED), 0).targets is None


def test_components_use_adversary_rows():
    made = challenger(game="mixture", dependence=MIXED, targets=5)
    found = knowledge.build("components", {}, made, 0)
    assert found.names == ("0", "1")
    assert found.fixed is None
    assert sum(map(len, found.components)) == len(found.reference)
    fixed = knowledge.build("blind", {}, challenger(game="group", dependence=MIXED), 0)
    assert fixed.fixed == 0


def test_blind_knowledge_has_no_model():
    made = challenger(game="group", dependence=MIXED)
    seen = knowledge.build("blind", {}, made, 0).view(released(made)[1])
    assert vars(seen).keys() == {"shown"}


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("strong", {"targets": 5}, "knowledge 'strong' needs game = 'strong'"),
        ("components", {"targets": 5}, "it needs game = 'mixture' or 'group'"),
        ("blind", {"game": "group", "dependence": MIXED, "reference": 0}, "no rows of component '0'"),
        ("clairvoyant", {"targets": 5}, "knowledge: none is called 'clairvoyant'"),
    ],
)
def test_rejects_unavailable_knowledge(name, table, words):
    with pytest.raises(BadInput, match=words):
        knowledge.build(name, {}, challenger(**table), 0)


@pytest.mark.parametrize(
    ("mechanism", "table", "words"),
    [
        ({}, {}, "mechanism: 'name' is missing"),
        ({"name": "dp_adma"}, {}, "did you mean 'dp_adam'"),
        ({"name": "dp_adam", "epsilon": 1.0}, {}, "'relation' is missing"),
        (NOISE, {"batch": 100}, "batch: 100 rows exceed the 60"),
        (NOISE, {"epochs": 0}, "epochs must be >= 1"),
        (NOISE | {"relation": "add_remove"}, {"sampling": "shuffled"}, "shuffled batches have a fixed size"),
        (NOISE, {"targest": 5}, "did you mean 'targets'"),
        (NOISE, {"rate": -1.0}, "rate must be > 0"),
        ({"name": "none", "optimizer": "adamw"}, {}, "optimizer"),
    ],
)
def test_rejects_invalid_tables(mechanism, table, words):
    with pytest.raises(BadInput, match=words):
        challenger(mechanism, **table)


def test_shuffled_batches_have_larger_group_epsilon_than_poisson():
    made = [challenger(game="group", dependence=MIXED, sampling=one) for one in BatchSampling]
    by = dict(zip(BatchSampling, made))
    assert by[BatchSampling.SHUFFLED].guarantee.epsilon < by[BatchSampling.POISSON].guarantee.epsilon
