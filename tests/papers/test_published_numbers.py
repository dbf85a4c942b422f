import math

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers.comparison import Claim, PublishedNumber
from leakgauge.papers.paper import paper_names
from leakgauge.papers.published_numbers import PublishedRow, PublishedTable, read_published

PAPERS = sorted(set(paper_names()) - {"liu24"})  # liu24 draws, and prints no number that we compare


@pytest.mark.parametrize("name", PAPERS)
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
