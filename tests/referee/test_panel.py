import numpy as np

from known_trials import trials
from leakgauge.referee.metrics import auc
from leakgauge.referee.panel import ask, rate_metrics


def test_a_refusal_becomes_an_answer_with_its_reason():
    answer = ask(auc.Metric(), trials(np.ones(5, bool), np.arange(5)), 0.95)
    assert answer.value is None
    assert "members and non-members" in answer.reason


def test_variants_of_one_file_have_their_own_names():
    names = set(rate_metrics())
    assert {"tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001_mean", "auc"} <= names
    assert "tpr_at_fpr" not in names
    assert rate_metrics()["tpr_at_fpr_0.01"](confidence=0.9).fpr == 0.01


def test_the_in_sample_optimum_is_there_on_request_only():
    both = {"advantage_in_sample", "advantage_in_sample_null"}
    assert not both & set(rate_metrics())
    assert set(rate_metrics(["in_sample"])) == set(rate_metrics()) | both
    assert {"advantage_own", "advantage_per_release"} <= set(rate_metrics())
