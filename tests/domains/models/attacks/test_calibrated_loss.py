import numpy as np
import pytest

from domains.models.memorizing_models import small
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.calibrated_loss import Attack
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import shadows_without_targets


def test_score_is_shadow_loss_minus_loss():
    rng = np.random.default_rng
    knowledge = small(rng(1), targets=7)
    models = shadows_without_targets(knowledge, 3, rng(2)).models
    shown = knowledge.targets
    scorer = Attack(shadows=3).study(knowledge, rng(2))
    scores = scorer.score(ModelsView([models[0], models[2]], [shown, shown]), rng(3))
    losses = np.array([model.losses(shown.rows, shown.labels) for model in models])
    np.testing.assert_allclose(scores, [losses.mean(axis=0) - losses[place] for place in (0, 2)])
    assert scorer.reading.studied == {"shadows": 3.0, "rows_per_shadow": 30.0}


def test_number_of_shadows_is_configurable():
    with pytest.raises(BadInput, match="shadows must be >= 1, got 0"):
        Attack(shadows=0)
