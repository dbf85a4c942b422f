import math

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import (
    Agreement,
    Claim,
    ComparedNumber,
    OurNumber,
    PublishedNumber,
    PublishedRow,
    PublishedTable,
    exact_number,
    format_exact,
    not_simulated,
    read_published,
)
from leakgauge.papers.paper import paper_names

AGREES, DIFFERS, UNDECIDED, NOT_PRINTED, OTHER_DATA, NOT_SIMULATED, OURS_ONLY = Agreement


def cell(ours, **more):
    return ComparedNumber(setting="it", ours=ours, **more)


def interval(low, value, high):
    return OurNumber(low=low, value=value, high=high)


@pytest.mark.parametrize(
    ("value", "places", "verdict"),
    [
        (0.92, 2, AGREES),
        (0.90, 2, AGREES),
        (0.89, 2, DIFFERS),
        (0.8, 1, DIFFERS),
        (0.9, 1, AGREES),
        (1, 0, AGREES),
    ],
)
def test_rounding_of_printed_number_is_tolerated(value, places, verdict):
    ours = interval(0.904, 0.915, 0.925)
    assert cell(ours, published=PublishedNumber(value=value, places=places, where="table")).verdict is verdict


def test_formula_must_agree_exactly():
    assert (
        cell(exact_number(math.log(2)), published=PublishedNumber(value=math.log(2), where="text")).verdict
        is AGREES
    )
    assert (
        cell(exact_number(0.6932), published=PublishedNumber(value=math.log(2), where="text")).verdict
        is DIFFERS
    )
    assert (
        cell(interval(0.6, 0.65, 0.7), published=PublishedNumber(value=math.log(2), where="")).verdict
        is AGREES
    )


@pytest.mark.parametrize(
    ("low", "high", "above", "at_most"),
    [
        (0.1, 0.2, AGREES, DIFFERS),
        (-0.2, -0.1, DIFFERS, AGREES),
        (-0.1, 0.1, UNDECIDED, UNDECIDED),
        (0, 0, DIFFERS, AGREES),
    ],
)
def test_order_must_hold_for_the_whole_interval(low, high, above, at_most):
    ours = interval(low, (low + high) / 2, high)
    for claim, verdict in ((Claim.ABOVE, above), (Claim.AT_MOST, at_most)):
        assert cell(ours, published=PublishedNumber(value=0.0, where="text", claim=claim)).verdict is verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(7, 99, AGREES), (100, 100, DIFFERS), (120, 150, DIFFERS), (90, 100, UNDECIDED)],
)
def test_number_below_a_limit_does_not_reach_it(low, high, verdict):
    stated = PublishedNumber(value=100.0, places=0, where="“less than 100”", claim=Claim.BELOW)
    assert cell(interval(low, (low + high) / 2, high), published=stated).verdict is verdict
    assert stated.written == "below 100"


def test_drawn_number_is_not_compared_and_stands_beside_theory():
    found = cell(interval(0.90, 0.91, 0.92), exact=0.915, drawn=True)
    assert found.verdict is NOT_PRINTED
    assert found.holds_exact is True
    assert found.to_json("liu24", "figure_6") == {
        "paper": "liu24",
        "item": "figure_6",
        "setting": "it",
        "published": None,
        "ours": 0.91,
        "low": 0.90,
        "high": 0.92,
        "exact": 0.915,
        "verdict": "no number printed",
        "reason": "The paper draws or describes this without a number; the exact value, 0.9150, lies inside "
        "our interval.",
    }
    outside = cell(interval(0.90, 0.91, 0.92), exact=0.93, drawn=True)
    assert (outside.verdict, outside.holds_exact) == (NOT_PRINTED, False)


def test_numbers_that_the_paper_does_not_have_are_ours_only():
    assert cell(exact_number(0.5)).verdict is OURS_ONLY
    alone = cell(interval(0.90, 0.91, 0.92), exact=0.93)
    assert (alone.verdict, alone.holds_exact) == (OURS_ONLY, False)
    assert alone.reason == "The paper does not have this; the exact value, 0.9300, lies outside our interval."


def test_unexplained_difference_is_marked():
    printed = PublishedNumber(value=0.2, places=1, where="section 3")
    assert (
        cell(exact_number(0.5), published=printed).reason
        == "Published: 0.2, section 3. No explanation is known."
    )
    assert (
        cell(exact_number(0.5), published=printed, why="A slip.").reason
        == "Published: 0.2, section 3. A slip."
    )
    above = PublishedNumber(value=0.0, where="text", claim=Claim.ABOVE)
    assert cell(interval(-1, 0, 1), published=above).reason.endswith("use --scale full.")
    assert cell(exact_number(1.0), published=above).reason == "Published: above 0, text."


def test_exact_numbers_are_not_rounded_to_certainty():
    assert [format_exact(value) for value in (0.99996, -0.00001, 1.0, -0.0, -1e-17, 12.5)] == [
        "0.99996", "-1e-05", "1", "0", "0", "12.5000",
    ]  # fmt: skip


def test_value_must_lie_in_its_interval():
    for low, value, high in ((0.5, 0.4, 0.6), (0.5, math.nan, 0.6)):
        with pytest.raises(BadInput, match="outside its interval"):
            interval(low, value, high)


def test_only_three_verdicts_compare():
    assert [kind for kind in Agreement if kind.is_compared] == [AGREES, DIFFERS, UNDECIDED]


def test_numbers_of_other_data_are_not_compared():
    published = PublishedNumber(value=0.767, where="table 3", places=3)
    cell = ComparedNumber(
        setting="here", ours=exact_number(0.767), published=published, other_data=True, why="Other data."
    )
    assert cell.verdict is OTHER_DATA
    assert cell.reason == "Published: 0.767, table 3. Other data."
    with pytest.raises(BadInput, match="here: state why"):
        ComparedNumber(setting="here", ours=exact_number(0.767), published=published, other_data=True)


def test_number_without_one_of_ours_is_listed_with_the_reason():
    published = PublishedNumber(value=0.97, places=2, where="section 6.3", claim=Claim.ABOVE)
    listed = not_simulated("call records", published)
    assert listed.verdict is NOT_SIMULATED
    assert listed.reason == (
        "Published: above 0.97, section 6.3. Not simulated at this scale; use --scale full."
    )
    found = listed.to_json("guan24", "figure_9")
    assert (found["published"], found["ours"], found["low"], found["high"]) == (0.97, None, None, None)
    with pytest.raises(BadInput, match="call records: state why"):
        not_simulated("call records", published, "")
    with pytest.raises(BadInput, match="neither"):
        cell(None, why="Nothing.")


def test_reason_is_given_where_an_undecided_value_is_beyond_the_limit():
    stated = PublishedNumber(value=0.5, where="text", claim=Claim.AT_MOST)
    for value, contradicts in ((0.6, True), (0.4, False)):
        found = cell(interval(0.3, value, 0.7), published=stated, why="Crowded.")
        assert found.verdict is UNDECIDED
        assert found.contradicts is contradicts
        assert found.reason.endswith("Crowded.") is contradicts


@pytest.mark.parametrize("low", [0.003, 0.006, 0.024, 0.026])
def test_range_is_met_or_missed_on_either_side(low):
    published = PublishedNumber(value=0.01, until=0.02, places=2, where="text")
    found = cell(interval(low, low + 0.0005, low + 0.001), published=published)
    assert found.verdict is (AGREES if 0.004 < low < 0.025 else DIFFERS)
    assert published.written == "0.01 to 0.02"


def test_range_goes_up():
    for wrong in ({"until": 0.01}, {"until": 0.03, "claim": Claim.ABOVE}):
        with pytest.raises(BadInput, match="text: a range goes up"):
            PublishedNumber(value=0.02, where="text", **wrong)


@pytest.mark.parametrize("name", sorted(paper_names()))
def test_every_number_has_its_source(name):
    found = read_published(f"leakgauge.papers.{name}")
    assert found.numbers
    for number in (*found.numbers.values(), *found.tables.values()):
        assert number.where


def test_number_has_decimals_and_claim():
    found = read_published("leakgauge.papers.nguyen23")["bitrand_success_from_5"]
    assert (found.value, found.places, found.claim) == (0.77, 2, Claim.ABOVE)
    assert found.written == "above 0.77"


def test_unprinted_table_cells_are_omitted():
    table = PublishedTable(
        where="table 9",
        places=1,
        columns=("a", "b"),
        rows=(PublishedRow(name="x", values=(1.5, math.nan)), PublishedRow(name="y", values=(2.0, 3.0))),
    )
    assert dict(table.numbers("x")) == {"a": PublishedNumber(value=1.5, places=1, where="table 9")}
    assert [column for column, _ in table.numbers("y")] == ["a", "b"]


@pytest.mark.parametrize("row", [{"values": (1.0,)}, {"values": (1.0, 2.0), "errors": (0.1,)}])
def test_row_has_one_value_for_each_column(row):
    with pytest.raises(BadInput, match="table 9: row 'x' must have 2 values"):
        PublishedTable(where="table 9", places=1, columns=("a", "b"), rows=(PublishedRow(name="x", **row),))


def test_rejects_misspelt_key(monkeypatch, tmp_path):
    package = tmp_path / "odd_paper"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "published.toml").write_text('[numbers.one]\nvalue = 1.0\nwere = "text"\n')
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="one: no key is called 'were'; did you mean 'where'"):
        read_published("odd_paper")
