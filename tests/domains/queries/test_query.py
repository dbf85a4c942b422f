import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query, QueryKind


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": QueryKind.SUM, "bound": 1.0}, "needs a column"),
        ({"kind": QueryKind.SUM, "column": "age"}, "needs a bound"),
        ({"kind": QueryKind.SUM, "column": "age", "bound": 0.0}, "bound must be > 0"),
        ({"kind": QueryKind.SUM, "column": "age", "bound": -1.0}, "bound must be > 0"),
        ({"kind": QueryKind.SUM, "column": "age", "bound": np.nan}, "bound must be > 0"),
        ({"kind": QueryKind.SUM, "column": "age", "bound": np.inf}, "bound must be > 0"),
        ({"kind": QueryKind.COUNT, "column": "age"}, "no column"),
        ({"kind": QueryKind.COUNT, "bound": 1.0}, "no bound"),
        ({"where": "true", "ids": (1,)}, "not by both"),
        ({"ids": (1, 2, 1)}, "must differ"),
    ],
)
def test_rejects_invalid_query(fields, message):
    with pytest.raises(BadInput, match=message):
        Query(**fields)


def test_sensitivity_is_one_for_counts_and_bound_for_sums():
    assert Query().sensitivity == 1
    assert Query(kind=QueryKind.SUM, column="age", bound=90.0).sensitivity == 90


def test_selection_can_be_replaced():
    query = Query(kind=QueryKind.SUM, column="age", bound=90.0, where="age > 3")
    assert query.on([4, 2]) == Query(kind=QueryKind.SUM, column="age", bound=90.0, ids=(4, 2))
    assert query.on([4]).such_that("age > 5") == Query(
        kind=QueryKind.SUM, column="age", bound=90.0, where="age > 5"
    )


def test_report_shows_columns_without_values():
    redacted = catalog.redacted_challenger(
        "queries", {"query": {"where": "name = 'Ann' OR col2 < -1.5e3"}, "budget": 3.0}
    )
    assert redacted == {"query": {"where": "name = … OR col2 < …"}, "budget": 3.0}
