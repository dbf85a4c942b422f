import pytest

from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.referee.metric_evaluation import rate_metrics
from leakgauge.report import vocabulary

METRICS_OF_DESIGN = {
    *["auc", "auc_mean", "accuracy", "accuracy_mean", "advantage", "tpr", "tnr", "epsilon"],
    *["tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001"],
}


def test_there_are_words_for_every_metric_unit_relation_and_coin():
    assert set(vocabulary.METRIC_TERMS) >= {*METRICS_OF_DESIGN, *rate_metrics()}
    assert set(vocabulary.UNITS) == {str(unit) for unit in Unit}
    assert set(vocabulary.RELATIONS) == {str(relation) for relation in Relation}
    assert set(vocabulary.COINS) == {coins.value for coins in Coins}


def test_a_metric_without_words_goes_by_its_name():
    assert vocabulary.term("loss").title == "loss"


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
    assert vocabulary.interval_text("auc", make_estimate(0.75, low, high)) == text


def test_a_low_end_exceeds_its_bound_only_where_both_are_known(make, make_estimate):
    metrics = {
        "auc": make_estimate(0.9, 0.8),
        "accuracy": make_estimate(0.9),
        "advantage": make_estimate(1.0, 0.9),
    }
    verdict = make(metrics=metrics, bounds={"auc": 0.7, "accuracy": 0.5, "advantage": None, "epsilon": 0.0})
    assert [name for name in (*metrics, "epsilon") if vocabulary.exceeds_bound(verdict, name)] == ["auc"]


def test_names_are_short_where_that_is_enough(make):
    one_audit = [make(label="a"), make(label="b")]
    assert vocabulary.adversary_names(one_audit, one_audit) == ["a", "b"]
    two_audits = [make(audit="x"), make(audit="y")]
    assert vocabulary.adversary_names(two_audits, two_audits) == ["x", "y"]
    both = [make(audit="x", label="a"), make(audit="y", label="a"), make(audit="y", label="b")]
    assert vocabulary.adversary_names(both[1:], both) == ["y · a", "y · b"]


def test_points_of_one_sweep_are_named_by_their_settings(swept):
    assert vocabulary.adversary_names(swept, swept)[0] == "epsilon=0.1,suppress=0"


def test_names_stay_different_when_they_are_cut(make):
    alike = [make(label="x" * 80 + str(place) + "y" * 80) for place in range(3)]
    assert len(set(vocabulary.adversary_names(alike, alike))) == 3


def test_an_unlimited_promise_says_so():
    assert vocabulary.promise_text({"epsilon": None}) == "ε\u00a0=\u00a0∞"


@pytest.fixture
def pooled_and_mean(make_estimate):
    return {"accuracy": make_estimate(0.6, 0.5, 0.7), "accuracy_mean": make_estimate(0.9, 0.8, 0.95)}


def test_the_mean_of_targets_stands_for_an_adversary_of_several(make, pooled_and_mean):
    verdict = make(n_targets=5, metrics=pooled_and_mean)
    assert vocabulary.headline_metric(verdict, "accuracy") == "accuracy_mean"
    assert vocabulary.averaged_note(verdict, "accuracy") == " on average over the targets"


def test_one_target_has_no_mean(make, pooled_and_mean):
    verdict = make(n_targets=1, metrics=pooled_and_mean)
    assert vocabulary.headline_metric(verdict, "accuracy") == "accuracy"
    assert vocabulary.averaged_note(verdict, "accuracy") == ""


def test_all_targets_together_have_to_do_where_none_could_be_judged_alone(
    make, make_estimate, pooled_and_mean
):
    refused = {**pooled_and_mean, "accuracy_mean": make_estimate(None, reason="too few rounds")}
    for metrics in (refused, {"accuracy": pooled_and_mean["accuracy"]}):
        assert vocabulary.headline_metric(make(n_targets=5, metrics=metrics), "accuracy") == "accuracy"


def test_a_metric_that_has_no_mean_stands_for_itself(make):
    assert vocabulary.headline_metric(make("many targets"), "epsilon") == "epsilon"
