from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from domains.models.memorizing_models import small, table
from leakgauge import audit_model
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.lira import Attack, fit_gaussians, shared_deviation
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import shadows_with_targets, shadows_without_targets
from leakgauge.domains.models.shadow_predictions import ShadowModels, true_class_answers
from leakgauge.domains.models.user_model.model_query import from_outputs

# Three shadows, two records; what counts of the first: 1, 3; of the second: 2, 4, 9.
VALUES = np.array([[1.0, 2.0], [3.0, 4.0], [100.0, 9.0]])
WHERE = np.array([[True, True], [True, True], [False, True]])


def test_fit_uses_masked_mean_and_deviation():
    fitted = fit_gaussians(VALUES, WHERE)
    np.testing.assert_allclose(fitted.mean, [2.0, 5.0])
    np.testing.assert_allclose(fitted.deviation**2, [2.0, (9 + 1 + 16) / 2])


def test_shared_deviation_is_around_each_record_mean():
    assert shared_deviation(VALUES, WHERE) ** 2 == pytest.approx((2 + 26) / 3)
    fitted = fit_gaussians(VALUES, WHERE, shared=0.5)
    np.testing.assert_allclose(fitted.mean, [2.0, 5.0])
    np.testing.assert_allclose(fitted.deviation, 0.5)


def test_record_with_one_value_is_excluded_from_shared_deviation():
    alone = np.array([[True, True], [False, True], [False, True]])
    assert shared_deviation(VALUES, alone) ** 2 == pytest.approx(26 / 2)


def test_densities_match_scipy_up_to_constant():
    fitted, at = fit_gaussians(VALUES, WHERE), np.array([0.5, 7.0])
    expected = norm.logpdf(at, fitted.mean, fitted.deviation) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(fitted.log_density(at), expected)
    np.testing.assert_allclose(fitted.standardised(at), [-1.5 / np.sqrt(2), 2 / np.sqrt(13)])


def test_identical_models_give_finite_scores():
    fitted = fit_gaussians(np.ones((4, 1)), np.ones((4, 1), dtype=bool))
    assert np.isfinite(fitted.log_density(np.array([-700.0]))).all()
    assert shared_deviation(np.ones((4, 1)), np.eye(4, 1, dtype=bool)) > 0


def rng(seed):
    return np.random.default_rng(seed)


def odds(models, records):
    """Log odds from probabilities, record by record."""
    found = []
    for model in models:
        chances = np.exp(model.log_probabilities(records.rows))
        own = chances[np.arange(len(records)), records.labels]
        found.append(np.log(own / (1 - own)))
    return np.array(found)


def released(knowledge, n=2):
    rows = knowledge.reference.take(np.arange(30))
    return [knowledge.trainer.fit(rows, rng(seed)) for seed in range(n)]


@pytest.mark.parametrize("variance", ["own", "shared"])
def test_online_scores_are_log_ratios_of_two_gaussians_for_each_target(variance):
    knowledge = small(rng(1), targets=5)
    shadows, models = shadows_with_targets(knowledge, 8, rng(2)), released(knowledge)
    found, seen = odds(shadows.models, knowledge.targets), odds(models, knowledge.targets)
    expected = np.empty((2, 5))
    for target in range(5):
        sides = [found[shadows.targets[:, target] == side, target] for side in (True, False)]
        deviations = [side.std(ddof=1) for side in sides]
        if variance == "shared":
            deviations = [
                np.sqrt(np.mean([found[shadows.targets[:, t] == side, t].var(ddof=1) for t in range(5)]))
                for side in (True, False)
            ]
        logs = [norm.logpdf(seen[:, target], side.mean(), s) for side, s in zip(sides, deviations)]
        expected[:, target] = logs[0] - logs[1]
    scorer = Attack(shadows=8, variance=variance).study(knowledge, rng(2))
    scores = scorer.score(ModelsView(models, [knowledge.targets] * 2), rng(3))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert scorer.reading.threshold == 0.0
    assert scorer.reading.signed


def test_offline_scores_are_deviations_above_mean_of_shadows():
    knowledge = small(rng(1), targets=5)
    shadows, models = shadows_without_targets(knowledge, 6, rng(2)), released(knowledge)
    found, seen = odds(shadows.models, knowledge.targets), odds(models, knowledge.targets)
    scorer = Attack(shadows=6, mode="offline", variance="own").study(knowledge, rng(2))
    scores = scorer.score(ModelsView(models, [knowledge.targets] * 2), rng(3))
    np.testing.assert_allclose(scores, (seen - found.mean(axis=0)) / found.std(axis=0, ddof=1), rtol=1e-6)
    assert scorer.reading.threshold is None


def test_offline_shared_variance_uses_unseen_reference_rows():
    knowledge = small(rng(1), targets=5)
    shadows, models = shadows_without_targets(knowledge, 6, rng(2)), released(knowledge)
    found = odds(shadows.models, knowledge.reference)
    squares = degrees = 0.0
    for row in range(60):
        outs = found[~shadows.rows[:, row], row]
        if outs.size > 1:
            squares, degrees = squares + outs.var() * outs.size, degrees + outs.size - 1
    means = odds(shadows.models, knowledge.targets).mean(axis=0)
    expected = (odds(models, knowledge.targets) - means) / np.sqrt(squares / degrees)
    scorer = Attack(shadows=6, mode="offline").study(knowledge, rng(2))
    scores = scorer.score(ModelsView(models, [knowledge.targets] * 2), rng(3))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_variance_is_shared_with_few_shadows():
    assert not Attack(shadows=63)._own(63)
    assert Attack(shadows=64)._own(64)
    assert Attack(variance="own")._own(2)
    assert not Attack(variance="shared")._own(1_000)


def test_mode_depends_on_known_targets():
    assert Attack(shadows=4).study(small(rng(1), targets=5), rng(2)).reading.signed
    assert not Attack(shadows=4).study(small(rng(1)), rng(2)).reading.signed
    with pytest.raises(BadInput, match='use mode = "offline"'):
        Attack(shadows=4, mode="online").study(small(rng(1)), rng(2))


def test_online_mode_needs_four_shadows():
    with pytest.raises(BadInput, match="shadows must be >= 4, got 3"):
        Attack(shadows=3)


def votes(included, generator, classes, n_trees=10):
    """Models that answer with the share of ten votes, as forests do: many answers are certain."""
    share = generator.binomial(n_trees, np.where(included, 0.95, 0.6)) / n_trees
    rest = [np.tile((1 - row)[:, None] / (classes - 1), (1, classes - 1)) for row in share]
    answers = [np.column_stack([row, others]) for row, others in zip(share, rest)]
    return [Recorded(from_outputs(one, len(one), "votes").log_probabilities) for one in answers]


@dataclass(frozen=True)
class Recorded:
    logs: Any

    def log_probabilities(self, rows):
        return self.logs


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("about_true_class", [False, True])
@pytest.mark.parametrize("variance", ["own", "shared"])
def test_certain_answers_of_forests_do_not_weaken_the_attack(variance, about_true_class, classes):
    targets = table(400, rng(1), features=2, classes=2)
    n_classes = 2 if about_true_class else classes
    targets = type(targets)(targets.rows, np.zeros(400, dtype=np.int64), n_classes)
    included = rng(2).permuted(np.tile(np.arange(16)[:, None] < 8, (1, 400)), axis=0)
    members = rng(3).random((5, 400)) < 0.5
    sides = [votes(included, rng(4), classes), votes(members, rng(6), classes)]
    if about_true_class:
        sides = [[Recorded(true_class_answers(one.logs, targets.labels)) for one in side] for side in sides]
    shadows = ShadowModels(sides[0], np.zeros((16, 0), dtype=bool), included)
    knowledge = BlackBoxKnowledge(
        reference=targets.take([]), n_members=200, trainer=None, targets=targets, shadows=shadows
    )
    scorer = Attack(shadows=16, variance=variance).study(knowledge, rng(5))
    scores = scorer.score(ModelsView(sides[1], [targets] * 5), rng(7))
    right = np.mean((scores > scorer.reading.threshold) == members)
    counts = np.arange(11)
    best = 0.5 + 0.25 * np.abs(binom.pmf(counts, 10, 0.95) - binom.pmf(counts, 10, 0.6)).sum()
    assert best - 0.1 < right < best + 0.03


def test_a_forest_on_ten_digits_is_recognised():
    X, y = load_digits(return_X_y=True)
    chosen = rng(1).permutation(len(X))[:800]
    members, others = chosen[:400], chosen[400:]
    found = audit_model(
        RandomForestClassifier(100, random_state=1).fit(X[members], y[members]),
        X[members],
        y[members],
        X[others],
        y[others],
        train=RandomForestClassifier(100),
        attacks=[{"name": "lira", "shadows": 16}],
        seed=1,
    )
    values = dict(found.to_frame()[["metric", "value"]].itertuples(index=False))
    assert values["tpr_at_fpr_0.01"] > 0.4
    assert values["accuracy_own"] > 0.9
