import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers.paper import Scale, Scope, all_papers, find_paper, select_items
from leakgauge.plan import read_plan


def test_a_paper_is_a_file():
    assert set(all_papers()) >= {"humphries23", "liu24", "tiny26"}


@pytest.mark.parametrize("name", sorted(set(all_papers()) | {"tiny26"}))
def test_every_paper_says_what_it_is(name):
    paper = find_paper(name)
    assert paper.title
    assert paper.authors
    assert 1950 < paper.year < 2100
    assert paper.items
    for item in paper.items.values():
        assert item.title
        assert item.about


@pytest.mark.parametrize(
    ("name", "item", "scale"),
    [(name, item, scale) for name, paper in all_papers().items() for item in paper.items for scale in Scale],
)
def test_every_plan_can_be_read(name, item, scale, tmp_path):
    for run in find_paper(name).items[item].runs(item):
        if plan := run.plan(Scope(scale=scale, data=tmp_path)):
            path = tmp_path / f"{run.name}.toml"
            path.write_text(plan)
            assert read_plan(path).audits


def test_an_unknown_paper_is_told_the_nearest_and_all():
    with pytest.raises(
        BadInput,
        match=r"no paper is called 'liu'; did you mean 'liu24'\? papers: guan24, huang, humphries23, liu24",
    ):
        find_paper("liu")
    with pytest.raises(BadInput, match=r"no paper is called 'x'; papers: guan24, huang, humphries23, liu24"):
        find_paper("x")
    with pytest.raises(BadInput, match="no paper is called 'reproduction'"):
        find_paper("reproduction")


def test_an_unknown_item_is_told_the_nearest_and_all():
    message = (
        r"tiny26: no item is called 'Figure 1'; did you mean 'figure_1'\? items: figure_1, table_1, table_2"
    )
    with pytest.raises(BadInput, match=message):
        select_items(find_paper("tiny26"), "tiny26", "Figure 1")


def test_one_item_or_all():
    paper = find_paper("tiny26")
    assert list(select_items(paper, "tiny26", None)) == ["figure_1", "table_1", "table_2"]
    assert list(select_items(paper, "tiny26", "table_1")) == ["table_1"]
