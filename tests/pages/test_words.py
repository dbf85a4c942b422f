import pytest

from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.pages import words
from leakgauge.referee.panel import rate_metrics

METRICS_OF_DESIGN = {
    *["auc", "auc_mean", "accuracy", "accuracy_mean", "advantage", "tpr", "tnr", "epsilon"],
    *["tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001"],
}


def test_there_are_words_for_every_metric_unit_relation_and_coin():
    assert set(words.METRICS) >= {*METRICS_OF_DESIGN, *rate_metrics()}
    assert set(words.UNITS) == {str(unit) for unit in Unit}
    assert set(words.RELATIONS) == {str(relation) for relation in Relation}
    assert set(words.COINS) == {coins.value for coins in Coins}


def test_a_metric_without_words_goes_by_its_name():
    assert words.term("loss").title == "loss"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.7, 0.8, "0.700 to 0.800"),
        (0.7, None, "at least 0.700"),
        (None, 0.8, "at most 0.800"),
        (None, None, "no interval"),
    ],
)
def test_an_interval_may_lack_an_end(make_estimate, low, high, text):
    assert words.interval("auc", make_estimate(0.75, low, high)) == text


def test_a_low_end_exceeds_its_bound_only_where_both_are_known(make, make_estimate):
    metrics = {
        "auc": make_estimate(0.9, 0.8),
        "accuracy": make_estimate(0.9),
        "advantage": make_estimate(1.0, 0.9),
    }
    verdict = make(metrics=metrics, bounds={"auc": 0.7, "accuracy": 0.5, "advantage": None, "epsilon": 0.0})
    assert [name for name in (*metrics, "epsilon") if words.exceeds(verdict, name)] == ["auc"]


def test_names_are_short_where_that_is_enough(make):
    one_audit = [make(label="a"), make(label="b")]
    assert words.names(one_audit, one_audit) == ["a", "b"]
    two_audits = [make(audit="x"), make(audit="y")]
    assert words.names(two_audits, two_audits) == ["x", "y"]
    both = [make(audit="x", label="a"), make(audit="y", label="a"), make(audit="y", label="b")]
    assert words.names(both[1:], both) == ["y · a", "y · b"]


def test_points_of_one_sweep_are_named_by_their_settings(swept):
    assert words.names(swept, swept)[0] == "epsilon=0.1,suppress=0"


def test_names_stay_different_when_they_are_cut(make):
    alike = [make(label="x" * 80 + str(place) + "y" * 80) for place in range(3)]
    assert len(set(words.names(alike, alike))) == 3


def test_an_unlimited_promise_says_so():
    assert words.promise({"epsilon": None}) == "ε\u00a0=\u00a0∞"
