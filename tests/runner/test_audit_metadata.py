import json
import math

import numpy as np
import pytest

from leakgauge.core.game import Coins
from leakgauge.core.guarantee import (
    ComposedGuarantee,
    Guarantee,
    LeastProtected,
    Relation,
    TradeoffCurve,
    Unit,
)
from leakgauge.runner.audit_metadata import (
    AuditMetadata,
    ControlMetadata,
    metadata_from_json,
    metadata_to_json,
)

CURVE = TradeoffCurve(np.array([0.0, 0.1, 1.0]), np.array([0.0, 1 / 3, 1.0]))


@pytest.mark.parametrize(
    "guarantee",
    [
        None,
        Guarantee(epsilon=0.1),
        Guarantee(epsilon=float("inf")),
        Guarantee(
            epsilon=np.float64(1) / 3,
            delta=1e-5,
            relation=Relation.REPLACE_ONE,
            unit=Unit.USER_DAY,
            sensitivity=2,
            nominal_epsilon=1.0,
            nominal_unit=Unit.EVENT,
            exact_epsilon=2207.3,
            composed=ComposedGuarantee(parts=7, delta=1e-5, kairouz=float("inf"), tight=3.25),
        ),
        Guarantee(epsilon=1.0, composed=ComposedGuarantee(parts=2, delta=1e-5, kairouz=1.5)),
        Guarantee(epsilon=1.0, least_protected=LeastProtected(epsilon=math.inf, accuracy=1.0, parts=9)),
    ],
)
def test_metadata_round_trip(guarantee):
    metadata = AuditMetadata(guarantee=guarantee, n_targets=3, coins=Coins.GIVEN, data="f0")
    assert metadata_from_json(json.loads(json.dumps(metadata_to_json(metadata), allow_nan=False))) == metadata


def test_curve_round_trips_exactly():
    metadata = AuditMetadata(
        guarantee=Guarantee(epsilon=1.0, curve=CURVE), n_targets=1, coins=Coins.FAIR, data=""
    )
    curve = metadata_from_json(json.loads(json.dumps(metadata_to_json(metadata)))).guarantee.curve
    np.testing.assert_array_equal(curve.fpr, CURVE.fpr)
    np.testing.assert_array_equal(curve.tpr, CURVE.tpr)


def test_notes_round_trip_and_default_to_none():
    metadata = AuditMetadata(
        guarantee=None, n_targets=1, coins=Coins.FAIR, data="", notes=("v.csv: 3 rows read",)
    )
    table = json.loads(json.dumps(metadata_to_json(metadata)))
    assert metadata_from_json(table) == metadata
    del table["notes"]
    assert metadata_from_json(table).notes == ()


def test_caveat_of_a_control_is_not_lost():
    control = ControlMetadata(digest="f1", caveat="shows less than it seems to")
    metadata = AuditMetadata(guarantee=None, n_targets=1, coins=Coins.FAIR, data="", control=control)
    assert metadata_from_json(json.loads(json.dumps(metadata_to_json(metadata)))).control == control
