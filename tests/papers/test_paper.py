import subprocess
import sys

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.papers.paper import Scale, Scope, find_paper, paper_names, select_items
from leakgauge.plan import plan_of


def test_paper_is_a_folder():
    assert paper_names() == ["guan24", "huang", "humphries23", "liu24", "nguyen23", "tiny26"]


def test_only_the_requested_item_is_imported():
    code = (
        "import sys; from leakgauge.papers.paper import find_paper, select_items; "
        "select_items(find_paper('liu24'), 'liu24', 'figure_9'); "
        "print(*sorted(name for name in sys.modules if name.startswith('leakgauge.papers.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name.removeprefix("leakgauge.papers.") for name in found.stdout.split()}
    assert {"liu24", "liu24.score_distributions"} <= modules
    assert not {"liu24.network_weights", "liu24.roc_curves", "guan24", "nguyen23"} & modules


@pytest.mark.parametrize("name", [*paper_names(), "tiny26"])
def test_every_paper_has_a_description(name):
    paper = find_paper(name)
    assert paper.title
    assert paper.authors
    assert 1950 < paper.year < 2100
    assert paper.items
    for item in select_items(paper, name, None).values():
        assert item.title
        assert item.about


@pytest.mark.parametrize(
    ("name", "item", "scale"),
    [(name, item, scale) for name in paper_names() for item in find_paper(name).items for scale in Scale],
)
def test_every_plan_is_valid(name, item, scale, tmp_path):
    for run in find_paper(name).item(item).runs(item):
        if audits := run.audits(Scope(scale=scale, data=tmp_path)):
            assert len(plan_of({"audit": audits}).audits) >= len(audits)


def test_unknown_paper_gets_suggestion_and_list():
    with pytest.raises(
        BadInput,
        match=r"no paper is called 'liu'; did you mean 'liu24'\? papers: guan24, huang, humphries23, liu24",
    ):
        find_paper("liu")
    with pytest.raises(BadInput, match=r"no paper is called 'x'; papers: guan24, huang, humphries23, liu24"):
        find_paper("x")
    with pytest.raises(BadInput, match="no paper is called 'reproduction'"):
        find_paper("reproduction")


def test_unknown_item_gets_suggestion_and_list():
    message = (
        r"tiny26: no item is called 'Figure 1'; did you mean 'figure_1'\? items: figure_1, table_1, table_2"
    )
    with pytest.raises(BadInput, match=message):
        select_items(find_paper("tiny26"), "tiny26", "Figure 1")


def test_selects_one_item_or_all():
    paper = find_paper("tiny26")
    assert list(select_items(paper, "tiny26", None)) == ["figure_1", "table_1", "table_2"]
    assert list(select_items(paper, "tiny26", "table_1")) == ["table_1"]
