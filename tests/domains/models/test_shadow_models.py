from dataclasses import replace

import numpy as np
import pytest

from domains.models.memorizing_models import network, small, table
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.shadow_models import (
    shadows_with_targets,
    shadows_without_targets,
    train_shadows,
)
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe, recipe_for_rows
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.support.parallel import use_parallel_map


def rng(seed=1):
    return np.random.default_rng(seed)


def test_offline_shadows_have_size_of_released_model():
    shadows = shadows_without_targets(small(rng(), reference=60, n_members=30), 8, rng())
    assert len(shadows.models) == 8
    assert shadows.rows.shape == (8, 60)
    assert shadows.targets.shape == (8, 0)
    assert (shadows.rows.sum(axis=1) == 30).all()
    assert np.unique(shadows.rows, axis=0).shape == (8, 60)
    assert shadows.studied == {"shadows": 8.0, "rows_per_shadow": 30.0}


def test_small_reference_is_halved():
    shadows = shadows_without_targets(small(rng(), reference=40, n_members=30), 4, rng())
    assert shadows.studied["rows_per_shadow"] == 20.0
    assert np.unique(shadows.rows, axis=0).shape[0] > 1


def test_each_target_is_in_half_of_the_shadows():
    shadows = shadows_with_targets(small(rng(), reference=200, n_members=30, targets=12), 10, rng())
    assert (shadows.targets.sum(axis=0) == 5).all()
    assert np.unique(shadows.targets, axis=1).shape[1] > 6
    np.testing.assert_array_equal(shadows.targets.sum(axis=1) + shadows.rows.sum(axis=1), 30)


def test_absent_targets_leave_empty_slots_in_shadows():
    knowledge = replace(small(rng(), reference=200, n_members=30, targets=12), empty=True)
    shadows = shadows_with_targets(knowledge, 10, rng())
    np.testing.assert_array_equal(shadows.rows.sum(axis=1), 18)
    np.testing.assert_array_equal(shadows_without_targets(knowledge, 4, rng()).rows.sum(axis=1), 18)


def test_shadow_coins_are_fair():
    shadows = shadows_with_targets(small(rng(), reference=60, n_members=30, targets=20), 16, rng())
    assert 0.3 < shadows.targets[0].mean() < 0.7
    together = np.corrcoef(shadows.targets.T.astype(float))
    assert abs(together[np.triu_indices(20, 1)].mean()) < 4 / np.sqrt(16 * 190)


def test_shadow_memorises_its_rows_only():
    rows = table(120, rng(3))
    knowledge = small(rng(), trainer=network(40))
    knowledge = type(knowledge)(
        reference=rows.take(np.arange(100)),
        n_members=40,
        trainer=network(40),
        targets=rows.take(np.arange(100, 120)),
    )
    shadows = shadows_with_targets(knowledge, 4, rng())
    for model, own, targets in zip(shadows.models, shadows.rows, shadows.targets):
        losses = model.losses(rows.rows, rows.labels)
        assert losses[:100][own].max() < losses[:100][~own].mean() / 5
        assert losses[100:][targets].max() < losses[100:][~targets].mean() / 5


def test_shadows_do_not_depend_on_engine_or_order():
    knowledge = small(rng())
    here = shadows_without_targets(knowledge, 3, rng(5)).models
    other = shadows_without_targets(knowledge, 3, rng(6)).models
    with use_parallel_map(lambda work, pieces: [work(piece) for piece in pieces[::-1]][::-1]):
        train_shadows(
            knowledge.reference,
            np.eye(2, 60, dtype=bool) | (np.arange(60) < 20),
            knowledge.trainer,
            rng(),
            30,
        )
        shadows_without_targets(knowledge, 2, rng())  # what was kept is forgotten
        there = shadows_without_targets(knowledge, 3, rng(5)).models
    for one, again, another in zip(here, there, other):
        assert one is not again
        np.testing.assert_array_equal(one.weights, again.weights)
        assert not np.array_equal(one.weights, another.weights)
    assert not np.array_equal(here[0].weights, here[1].weights)


def test_equal_requests_share_cached_shadows():
    knowledge, requested = small(rng(8)), []

    def spy(work, pieces):
        requested.append(len(pieces))
        return map(work, pieces)

    with use_parallel_map(spy):
        first = shadows_without_targets(knowledge, 3, rng()).models
        again = shadows_without_targets(knowledge, 3, rng()).models
        shadows_without_targets(small(rng(9)), 3, rng())
        shadows_without_targets(knowledge, 4, rng())
    assert requested == [3, 3, 4]
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_smaller_recipe_keeps_fitting_settings():
    schedule = TrainingSchedule(rows=1_000, batch=200, epochs=7, sampling=BatchSampling.SHUFFLED)
    given = TrainingRecipe(schedule=schedule, noise=DpSgdNoise(sigma=3.0, clip=0.5), hidden=(5,))
    assert recipe_for_rows(given, 300).schedule == TrainingSchedule(
        rows=300, batch=200, epochs=7, sampling=BatchSampling.SHUFFLED
    )
    few = recipe_for_rows(given, 50)
    assert few.schedule.batch == 50
    assert (few.noise, few.hidden, few.optimizer) == (given.noise, given.hidden, given.optimizer)


def test_missing_reference_rows_give_advice():
    with pytest.raises(BadInput, match="a shadow model would have 0 rows"):
        shadows_without_targets(small(rng(), reference=0), 4, rng())
    with pytest.raises(
        BadInput,
        match=r"a shadow model would have 9 rows, and at least 10 are needed.*challenger\.reference",
    ):
        shadows_without_targets(small(rng(), reference=19), 4, rng())


def test_unknown_training_has_no_shadows():
    for shadows in (shadows_without_targets, shadows_with_targets):
        for reference in (0, 60):
            with pytest.raises(BadInput, match="not stated how this one was trained; use loss_threshold"):
                shadows(small(rng(), reference=reference, targets=3, trainer=None), 4, rng())


def test_fresh_targets_have_no_online_shadows():
    with pytest.raises(BadInput, match=r"differ in each round.*offline"):
        shadows_with_targets(small(rng()), 4, rng())
