import pytest

from leakgauge.pages import standing


@pytest.fixture
def pooled_and_mean(make_estimate):
    return {"accuracy": make_estimate(0.6, 0.5, 0.7), "accuracy_mean": make_estimate(0.9, 0.8, 0.95)}


def test_the_mean_of_targets_stands_for_an_adversary_of_several(make, pooled_and_mean):
    verdict = make(n_targets=5, metrics=pooled_and_mean)
    assert standing.standing(verdict, "accuracy") == "accuracy_mean"
    assert standing.how(verdict, "accuracy") == " on average over the targets"


def test_one_target_has_no_mean(make, pooled_and_mean):
    verdict = make(n_targets=1, metrics=pooled_and_mean)
    assert standing.standing(verdict, "accuracy") == "accuracy"
    assert standing.how(verdict, "accuracy") == ""


def test_all_targets_together_have_to_do_where_none_could_be_judged_alone(
    make, make_estimate, pooled_and_mean
):
    refused = {**pooled_and_mean, "accuracy_mean": make_estimate(None, reason="too few rounds")}
    for metrics in (refused, {"accuracy": pooled_and_mean["accuracy"]}):
        assert standing.standing(make(n_targets=5, metrics=metrics), "accuracy") == "accuracy"


def test_a_metric_that_has_no_mean_stands_for_itself(make):
    assert standing.standing(make("many targets"), "epsilon") == "epsilon"
