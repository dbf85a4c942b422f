"""Crafted initial weights: where a training without noise and canaries ended."""

import numpy as np
import pytest

import leakgauge
from domains.models.dp_training.watched_trainings import SIGMA, opacus_training
from leakgauge.core.errors import BadInput
from page_numbers import rows

CLAIM = {"epsilon": 4.0, "sample_rate": 0.1, "steps": 20}


def loop(seen, *, announced=True, steps=20):
    """Linear regression; ``seen`` gets the weights before and after, and the noise multiplier."""

    def train(watch, rng):
        data = np.random.default_rng(0)
        rows = data.normal(size=(400, 4))
        values, weights = rows[:, 0] * 2, np.zeros(4)
        if announced:
            watch.start_from(weights)
        sigma = watch.noise_multiplier(SIGMA)
        before = weights.copy()
        for _ in range(steps):
            batch = rng.random(400) < 0.1
            gradients = watch.add_canary(
                (rows[batch] @ weights - values[batch])[:, None] * rows[batch], clip=1.0
            )
            total = np.minimum(1.0, 1 / np.linalg.norm(gradients, axis=1)) @ gradients
            noisy = total + sigma * rng.normal(size=4)
            watch.step(total, noisy)
            weights -= 0.5 * noisy / 40
        seen.append((before, weights.copy(), sigma))

    return train


def test_trainings_start_where_one_without_noise_ended():
    seen = []
    verdict = leakgauge.audit_training(loop(seen), **CLAIM, rounds=60, initial_weights="crafted")
    crafted = next(after for before, after, sigma in seen if sigma == 0 and not before.any())
    assert np.abs(crafted).max() > 1  # it has learned something
    trained = [before for before, _, sigma in seen if sigma > 0]
    assert len(trained) >= 2
    for before in trained:
        np.testing.assert_array_equal(before, crafted)
    assert verdict.finding == "not violated"


ROWS, FEATURES, RATE, STEPS = 2_000, 10, 0.25, 40


def logistic_loop(seed):
    """Logistic regression on classes that can be separated, and one canary with the wrong label."""
    data = np.random.default_rng(seed)
    true = data.normal(size=FEATURES)
    true /= np.linalg.norm(true)
    rows = data.normal(size=(ROWS, FEATURES))
    labels = np.sign(rows @ true)
    rows += labels[:, None] * true
    canary = 3 * data.normal(size=FEATURES)
    wrong = -np.sign(canary @ true)
    rows, labels = np.vstack([rows, canary]), np.append(labels, wrong)
    lengths = np.linalg.norm(rows, axis=1)

    def train(watch, rng, canaries):
        weights = np.zeros(FEATURES)
        watch.start_from(weights)
        sigma, present = watch.noise_multiplier(1.0), np.append(np.ones(ROWS, dtype=bool), canaries)
        for _ in range(STEPS):
            batch = present & (rng.random(ROWS + 1) < RATE)
            odds = labels[batch] * (rows[batch] @ weights)
            slopes = -labels[batch] / (1 + np.exp(np.clip(odds, -500, 500)))
            scales = np.minimum(1, 1 / np.maximum(np.abs(slopes) * lengths[batch], 1e-300))
            noisy = (slopes * scales) @ rows[batch] + sigma * rng.normal(size=FEATURES)
            weights -= 16 * noisy / (RATE * ROWS)
        return [np.logaddexp(0, -wrong * (canary @ weights))]

    return train


def auc_of_silent_others(n=40_000):
    """By simulation: a model whose other records do not move shows the sum of all steps along the canary."""
    rng = np.random.default_rng(0)
    inside = rng.binomial(STEPS, RATE, n) + np.sqrt(STEPS) * rng.normal(size=n)
    return (inside > np.sqrt(STEPS) * rng.normal(size=n)).mean()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_crafted_weights_show_the_last_model_nearly_what_silent_others_would(seed):
    """Seeds after 3, on which the learning rate was chosen. The optimum is .859, without crafting .76."""
    found = {
        how: leakgauge.audit_training(
            logistic_loop(seed),
            epsilon=12.6,
            sample_rate=RATE,
            steps=STEPS,
            canaries=1,
            rounds=1000,
            initial_weights=how,
            seed=5,
        ).metrics
        for how in ("own", "crafted")
    }
    best = auc_of_silent_others()
    assert found["own"]["auc"].high < best - 0.02
    assert found["crafted"]["auc"].value == pytest.approx(best, abs=0.03)  # 2.5 standard errors
    assert found["crafted"]["auc"].low > found["own"]["auc"].high
    assert found["crafted"]["epsilon"].low > found["own"]["epsilon"].low + 0.3
    own, crafted, silent, _ = rows("dp-training.md", "| initial weights | AUC")
    assert float(silent[1]) == pytest.approx(best, abs=0.004)
    for row, metrics in ((own, found["own"]), (crafted, found["crafted"])):
        auc, epsilon = (float(cell.split(", ")[seed - 11]) for cell in row[1:])
        assert auc == pytest.approx(metrics["auc"].value, abs=0.002)
        assert epsilon == pytest.approx(metrics["epsilon"].low, abs=0.02)


def test_own_weights_stay_as_they_are():
    seen = []
    leakgauge.audit_training(loop(seen), **CLAIM, rounds=20)
    assert all(not before.any() for before, *_ in seen)


def test_missing_noise_is_found_from_crafted_weights_too():
    def train(watch, rng):
        loop([])(Third(watch), rng)

    class Third:
        def __init__(self, watch):
            self._watch = watch

        def __getattr__(self, name):
            return getattr(self._watch, name)

        def noise_multiplier(self, sigma):
            return self._watch.noise_multiplier(sigma) / 3

    found = leakgauge.audit_training(train, **CLAIM, rounds=100, confidence=0.999, initial_weights="crafted")
    assert found.finding == "violated"


def test_loop_that_does_not_announce_its_weights_is_refused():
    with pytest.raises(BadInput, match=r"call watch\.start_from"):
        leakgauge.audit_training(loop([], announced=False), **CLAIM, initial_weights="crafted")


def test_weights_of_opacus_are_crafted_without_a_change():
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    from opacus import PrivacyEngine

    weights, train = [], opacus_training()

    def watched():
        before = PrivacyEngine.make_private
        PrivacyEngine.make_private = noted(before, weights, torch)
        try:
            train()
        finally:
            PrivacyEngine.make_private = before

    found = leakgauge.audit_training(
        watched, epsilon=4.0, sample_rate=0.1, steps=100, rounds=200, initial_weights="crafted"
    )
    assert found.finding == "not violated"
    assert len(weights) >= 3
    assert not np.array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[1], weights[2])


def noted(make_private, weights, torch):
    """``make_private`` that notes the weights with which a training starts."""

    def make(engine, **options):
        made = make_private(engine, **options)
        flat = torch.cat([one.detach().flatten() for one in made[0].parameters()])
        weights.append(flat.numpy().copy())
        return made

    return make
