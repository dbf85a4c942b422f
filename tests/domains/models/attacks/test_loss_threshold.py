import numpy as np
import pytest

from domains.models.memorizing_models import Table, small
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.loss_threshold import Attack
from leakgauge.domains.models.knowledge import BlackBoxKnowledge, TrainingLossKnowledge
from leakgauge.domains.models.release import ModelsView, TrainingLossView
from leakgauge.domains.models.training.trainer import Examples

NOTHING = Examples(np.zeros((0, 1), dtype=np.float32), np.zeros(0, dtype=np.int64), 2)
SHOWN = Examples(np.zeros((2, 1), dtype=np.float32), np.array([0, 1]), 2)
MODELS = [Table([0.9, 0.1]), Table([0.5, 0.5])]


def knowledge(kind=TrainingLossKnowledge):
    return kind(reference=NOTHING, n_members=10, trainer=None, targets=None)


def test_average_threshold_is_mean_training_loss():
    scorer = Attack().study(knowledge(), np.random.default_rng(1))
    seen = TrainingLossView(MODELS, [SHOWN, SHOWN], np.array([0.3, np.log(2)]))
    scores = scorer.score(seen, np.random.default_rng(1))
    np.testing.assert_allclose(scores, [[0.3 + np.log(0.9), 0.3 + np.log(0.1)], [0, 0]], atol=1e-12)
    assert scorer.reading.threshold == 0.0
    assert not scorer.reading.signed


@pytest.mark.parametrize("kind", [BlackBoxKnowledge, TrainingLossKnowledge])
def test_optimal_threshold_is_chosen_by_referee(kind):
    scorer = Attack(threshold="optimal").study(knowledge(kind), np.random.default_rng(1))
    scores = scorer.score(ModelsView(MODELS, [SHOWN, SHOWN]), np.random.default_rng(1))
    np.testing.assert_allclose(scores, np.log([[0.9, 0.1], [0.5, 0.5]]))
    assert scorer.reading.threshold is None


def test_missing_average_loss_gives_advice():
    with pytest.raises(
        BadInput, match='does not know; use knowledge = "training_loss", or threshold = "optimal"'
    ):
        Attack().study(small(np.random.default_rng(1)), np.random.default_rng(1))
