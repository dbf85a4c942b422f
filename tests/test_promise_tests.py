from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from known_trials import SIGNED, trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.plan import MetricsTable
from leakgauge.promise_tests import PromiseTest, StoppingSchedule, promise_refuted
from leakgauge.verdict import Finding, decide_finding


def promise_test(promise, schedule=None, **settings):
    settings = {"metrics": MetricsTable(), "n_verdicts": 1, "trials_per_round": 1.0} | settings
    return PromiseTest(guarantee=promise, schedule=schedule, **settings)


@pytest.mark.parametrize("schedule", [None, StoppingSchedule(block=10)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0])
def test_small_delta_needs_at_most_twice_the_rounds(epsilon, schedule):
    """Scores without an error, in as many rounds as are said to be needed, do refute the promise."""
    pure, small = (Guarantee(epsilon=epsilon, delta=delta) for delta in (0.0, 1e-5))
    n = [promise_test(promise, schedule).rounds_to_violate for promise in (pure, small)]
    assert n[0] <= n[1] <= 2 * n[0]
    members = np.arange(10 * n[1]) % 2 == 0
    ask = {"guarantee": small, "metrics": MetricsTable(), "n_verdicts": 1}
    if schedule is None:
        rows = trials(members[: n[1]], np.where(members[: n[1]], 1.0, -1.0), replace(SIGNED, fraction=1.0))
        found = [
            decide_finding(played, small, MetricsTable(), 1, None)
            for played in (rows, rows.where(rows.rounds > 0))
        ]
        assert found == [Finding.VIOLATED, Finding.UNDECIDED]
    else:
        rows = trials(members, np.where(members, 1.0, -1.0), SIGNED)
        played = rows.where(rows.rounds < -(-n[1] // 10) * 10)
        assert promise_refuted(played, schedule=schedule, **ask)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("n_verdicts", [1, 10])
def test_in_the_rounds_needed_a_leak_as_large_as_the_promise_is_noticed(epsilon, n_verdicts):
    """Randomized response, judged by the exact lower confidence bound on its share of right answers."""
    needed = promise_test(Guarantee(epsilon=epsilon), n_verdicts=n_verdicts).rounds_needed
    error, right = 0.05 / n_verdicts, 1 / (1 + np.exp(-epsilon))

    def power(n):
        hits = np.arange(n + 1)
        detected = binom.sf(hits - 1, n, 0.5) < error  # more than a fair coin allows
        return binom.pmf(hits[detected], n, right).sum()

    assert power(needed) >= 0.8
    assert (
        epsilon > 1 or power(round(needed * 0.8)) < 0.8
    )  # fewer notice it, and cannot refute a larger promise


def test_a_promise_that_no_number_of_rounds_tests_needs_none():
    assert promise_test(Guarantee(epsilon=40.0)).rounds_needed is None
