import numpy as np
import pytest

from domains.models.memorizing_models import network, small
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks import shadow
from leakgauge.domains.models.attacks.shadow import Attack
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.network import NetworkTrainer


def rng(seed):
    return np.random.default_rng(seed)


def test_shadow_members_and_others_come_from_two_halves():
    chosen, others = Attack()._halves(207, rng(1))
    assert chosen.shape == others.shape == (5, 207)
    assert (chosen.sum(axis=1) == 41).all()
    assert (others.sum(axis=1) == 41).all()
    assert not (chosen.any(axis=0) & others.any(axis=0)).any()
    assert np.unique(chosen, axis=0).shape[0] == 5


class Numbered:
    """A model whose probabilities say which model it is, and which row it was asked about."""

    def __init__(self, number):
        self.number = number

    def log_probabilities(self, rows):
        first, second = (self.number + 1) / 10, (rows[:, 0] + 1) / 1_000
        return np.log(np.column_stack([np.full(len(rows), first), second, 1 - first - second]))


def test_training_labels_match_shadow_membership(monkeypatch):
    # 83 rows are no whole number of batches: labels must not drift away from their rows.
    labels = rng(1).integers(3, size=400)
    reference = Examples(np.arange(400, dtype=np.float32)[:, None], labels, 3)
    knowledge = BlackBoxKnowledge(
        reference=reference, n_members=30, trainer=network(30, batch=10), targets=None
    )
    lessons, halves = [], []
    monkeypatch.setattr(shadow, "_train_attack_network", lambda lesson: lessons.append(lesson[0]))
    monkeypatch.setattr(
        shadow,
        "train_shadows",
        lambda _, chosen, *rest: (halves.append(chosen), [Numbered(i) for i in range(5)])[1],
    )
    Attack(rows=83).study(knowledge, rng(2))
    (chosen,) = halves
    assert sum(map(len, lessons)) == 2 * 5 * 83
    for label, lesson in enumerate(lessons):
        models = np.rint(lesson.rows[:, 0] * 10).astype(int) - 1
        rows = np.rint(lesson.rows[:, 1] * 1_000).astype(int) - 1
        assert (labels[rows] == label).all()
        np.testing.assert_array_equal(lesson.labels, chosen[models, rows])


def test_shadows_use_noise_of_released_model_by_default(monkeypatch):
    trainers, honest = [], shadow.train_shadows
    noisy = TrainingRecipe(
        schedule=network(30, batch=10, epochs=1).recipe.schedule, noise=DpSgdNoise(sigma=2.0), hidden=(4,)
    )
    knowledge = small(rng(1), trainer=NetworkTrainer(recipe=noisy))
    monkeypatch.setattr(
        shadow, "train_shadows", lambda *given: (trainers.append(given[2]), honest(*given))[1]
    )
    for private in (True, False):
        Attack(private=private).study(knowledge, rng(2))
    assert [one.recipe.noise for one in trainers] == [noisy.noise, None]


@pytest.mark.parametrize("features", ["probabilities", "log_probabilities"])
def test_scores_are_log_odds_of_class_network_or_zero(features):
    given = small(rng(1), reference=100, targets=12)
    labels = np.minimum(given.reference.labels, 1)  # nobody has seen class 2
    reference = Examples(given.reference.rows, labels, 3)
    knowledge = BlackBoxKnowledge(
        reference=reference, n_members=30, trainer=given.trainer, targets=given.targets
    )
    model = knowledge.trainer.fit(reference.take(np.arange(30)), rng(4))
    scorer = Attack(features=features).study(knowledge, rng(2))
    scores = scorer.score(ModelsView([model], [given.targets]), rng(3))
    assert (scores[0, given.targets.labels == 2] == 0).all()
    assert (scores[0, given.targets.labels < 2] != 0).all()
    assert scorer.reading.studied == {"shadows": 5.0, "rows_per_shadow": 20.0, "classes_learned": 2.0}
    assert scorer.reading.threshold == 0.0


def test_rejects_too_few_rows_with_required_number():
    with pytest.raises(BadInput, match="shadows of 40 rows need 80 in the reference, which has 60"):
        Attack(rows=40).study(small(rng(1)), rng(2))
    with pytest.raises(BadInput, match=r"a shadow model would have 4 rows, and at least 10 are needed"):
        Attack().study(small(rng(1), reference=20), rng(2))
