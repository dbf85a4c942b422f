import pytest

from leakgauge.papers.comparison import Agreement, Claim, ComparedNumber, PublishedNumber, exact_number
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.guan24 import plans, statements
from leakgauge.papers.guan24.plans import KNOCK_KNOCK, ZERO_KNOWLEDGE, ReleaseSetting
from leakgauge.papers.guan24.statements import ACCURACIES, AUCS, PUBLISHED


def find(numbers, column, release, variant):
    (found,) = [n for n in numbers if (n.column, n.release, n.variant) == (column, release, variant)]
    return found.value, found.error


@pytest.mark.parametrize(
    ("table", "column", "release", "variant", "value", "error"),
    [
        ("table_3", "CDR", ReleaseSetting(k=0), ZERO_KNOWLEDGE, 0.991, 0.008),
        ("table_3", "Milan", ReleaseSetting(k=1), KNOCK_KNOCK, 0.767, 0.018),
        ("table_4", "Milan", ReleaseSetting(epsilon=1.0), ZERO_KNOWLEDGE, 0.594, 0.008),
        ("table_4", "CDR", ReleaseSetting(epsilon=10.0), KNOCK_KNOCK, 0.923, 0.029),
        ("table_5", "Milan", ReleaseSetting(epsilon=5.0, unit="user-day"), KNOCK_KNOCK, 0.746, 0.009),
    ],
)
def test_accuracies_are_found_by_setting(table, column, release, variant, value, error):
    assert find(ACCURACIES[table], column, release, variant) == (value, error)


@pytest.mark.parametrize(
    ("table", "column", "release", "variant", "value"),
    [
        ("table_6", "CDR", ReleaseSetting(k=0, m=3000), KNOCK_KNOCK, 0.988),
        ("table_7", "Milan", ReleaseSetting(k=0), KNOCK_KNOCK, 0.995),
        ("table_8", "CDR", ReleaseSetting(k=1, m=100), ZERO_KNOWLEDGE, 0.779),
        ("table_9", "Milan", ReleaseSetting(k=1, m=2000), ZERO_KNOWLEDGE, 0.972),
    ],
)
def test_aucs_are_found_by_setting(table, column, release, variant, value):
    assert find(AUCS[table], column, release, variant)[0] == value


def test_tables_are_complete():
    assert [len(numbers) for numbers in ACCURACIES.values()] == [24, 20, 20]
    assert [len(numbers) for numbers in AUCS.values()] == [10, 8, 10, 8]
    for name in ("table_10", "table_11"):
        rows = PUBLISHED.tables[name].rows
        assert [(row.name, len(row.values), len(row.errors)) for row in rows] == [
            ("CDR", 8, 8),
            ("Milan", 8, 8),
        ]


def test_places_without_times_are_found_by_setting():
    table = PUBLISHED.tables["table_11"]
    found = dict(zip(table.columns, table.row("Milan").values, strict=True))
    assert (found["knock-knock all"], found["zero-knowledge 1"]) == (0.860, 0.542)


def test_statements_are_not_judged_on_further_data():
    above = PublishedNumber(value=0.5, where="text", claim=Claim.ABOVE)
    cells = [
        ComparedNumber(setting="stated", ours=exact_number(0.6), published=above),
        ComparedNumber(setting="ours", ours=exact_number(0.6)),
    ]
    further = plans.LocationDataSet(
        data=DataSet(name="kuala-lumpur", description="check-ins", table={"source": "visits.parquet"})
    )
    for place, verdict in (
        (further, Agreement.OTHER_DATA),
        (plans.CITY, Agreement.AGREES),
        (plans.CDR, Agreement.AGREES),
    ):
        found = statements.on_data(place, cells)
        assert [cell.verdict for cell in found] == [verdict, Agreement.OURS_ONLY]
