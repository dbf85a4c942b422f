import numpy as np
import pytest

from domains.models.memorizing_models import Table
from leakgauge.domains.models.membership_signals import (
    log_mean,
    log_odds,
    log_true_probability,
    per_round,
    signal_matrix,
)
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.training.mlp import MlpClassifier, MlpShape
from leakgauge.domains.models.training.trainer import Examples

RECORDS = Examples(np.zeros((3, 2), dtype=np.float32), np.array([0, 1, 2]), 3)


def test_signals_use_the_class_of_the_record():
    model = Table([0.7, 0.2, 0.1])
    np.testing.assert_allclose(log_true_probability(model, RECORDS), np.log([0.7, 0.2, 0.1]))
    np.testing.assert_allclose(log_odds(model, RECORDS), np.log([0.7 / 0.3, 0.2 / 0.8, 0.1 / 0.9]))


def test_log_odds_separate_nearly_certain_models():
    records = Examples(np.ones((1, 1), dtype=np.float32), np.array([0]), 2)
    odds = [
        log_odds(MlpClassifier(MlpShape(1, 2, ()), np.array([logit, 0, 0, 0], dtype=np.float32)), records)[0]
        for logit in (40, 60)
    ]
    assert odds == pytest.approx([40, 60])


def test_certain_model_gives_finite_signals():
    for model in (Table([1.0, 0.0, 0.0]), Table([0.0, 0.0, 1.0])):
        assert np.isfinite(log_true_probability(model, RECORDS)).all()
        odds = log_odds(model, RECORDS)
        assert np.isfinite(odds).all()
        assert np.ptp(odds) > 1_000


def test_signals_have_one_row_per_model():
    found = signal_matrix([Table([0.5, 0.3, 0.2]), Table([0.2, 0.2, 0.6])], RECORDS, log_true_probability)
    np.testing.assert_allclose(np.exp(found), [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])


def test_log_mean_is_masked_and_does_not_underflow():
    logs = np.array([[-690.0, np.log(0.5)], [-690.0, np.log(0.1)], [0.0, np.log(0.3)]])
    where = np.array([[True, True], [True, False], [False, True]])
    np.testing.assert_allclose(log_mean(logs, where), [-690.0, np.log(0.4)])


def test_record_features_are_cached():
    same = Examples(RECORDS.rows.copy(), RECORDS.labels.copy(), 3)
    others = Examples(RECORDS.rows + 1, RECORDS.labels, 3)
    relabelled = Examples(RECORDS.rows, RECORDS.labels[::-1], 3)
    worked_out: list[Examples] = []
    seen = ModelsView([Table([1, 0, 0])] * 4, [RECORDS, same, others, relabelled])
    for _, shown, found in per_round(seen, lambda records: (worked_out.append(records), records)[1]):
        np.testing.assert_array_equal(found.rows, shown.rows)
        np.testing.assert_array_equal(found.labels, shown.labels)
    assert len(worked_out) == 3
