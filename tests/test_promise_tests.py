from dataclasses import replace

import numpy as np
import pytest

from known_trials import SIGNED, trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.plan import MetricsTable
from leakgauge.promise_tests import StoppingSchedule, promise_refuted, rounds_needed
from leakgauge.verdict import Finding, decide_finding


@pytest.mark.parametrize("schedule", [None, StoppingSchedule(block=10)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0])
def test_small_delta_needs_at_most_twice_the_rounds(epsilon, schedule):
    """Scores without an error, in as many rounds as are said to be needed, do refute the promise."""
    pure, small = (Guarantee(epsilon=epsilon, delta=delta) for delta in (0.0, 1e-5))
    n = [rounds_needed(MetricsTable(), promise, 1, schedule, 1.0) for promise in (pure, small)]
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
