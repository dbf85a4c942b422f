import json
import math

import numpy as np

from known_trials import laplace
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.plan import Metrics
from leakgauge.verdict import Subject, reach
from leakgauge.verdict_file import from_json, to_json

SUBJECT = Subject(audit="a", domain="d", label="l", attack="x", knowledge="k", parameters={}, seed=1)


def test_json_holds_plain_values_and_can_be_read_back():
    promise = Guarantee(
        epsilon=math.inf,
        relation=Relation.REPLACE_ONE,
        unit=Unit.USER,
        nominal_epsilon=1.0,
        nominal_unit=Unit.EVENT,
    )
    found = reach(
        laplace(1.0, 300, np.random.default_rng(12)), guarantee=promise, subject=SUBJECT, metrics=Metrics()
    )
    content = json.loads(json.dumps(to_json([found]), allow_nan=False))
    assert content["schema"] == 1
    one = content["verdicts"][0]
    assert one["promised"] == {
        "epsilon": None,
        "delta": 0.0,
        "relation": "replace_one",
        "unit": "user",
        "nominal": {"epsilon": 1.0, "unit": "event"},
        "exact_epsilon": None,
        "composed": None,
    }
    assert one["bounds"]["epsilon"] is None
    assert set(one["metrics"]["epsilon"]) == {"value", "low", "high", "confidence", "method", "reason"}
    back = from_json(content)[0]
    assert back.metrics["epsilon"] == found.metrics["epsilon"]
    assert back.finding == found.finding
