"""Nguyen et al. (2023): a dishonest server against federated clients with local differential privacy."""

from dataclasses import replace

from leakgauge.papers.nguyen23.attack_success import FIGURE_5, FIGURE_11
from leakgauge.papers.nguyen23.certified_success import FIGURE_7, FIGURE_12
from leakgauge.papers.nguyen23.crafted_weights import FIGURE_8, FIGURE_14
from leakgauge.papers.nguyen23.exact_epsilon import EXACT
from leakgauge.papers.nguyen23.figure_6 import FIGURE_6
from leakgauge.papers.nguyen23.figure_10 import FIGURE_10
from leakgauge.papers.nguyen23.figure_13 import FIGURE_13
from leakgauge.papers.nguyen23.hinges import HINGES_ITEM
from leakgauge.papers.nguyen23.training_epochs import FIGURE_9, TABLE_1
from leakgauge.papers.paper import ItemResult, Paper, PaperItem, PlayedItem
from leakgauge.support.threads import single_threaded

ITEMS = {
    "figure_5": FIGURE_5,
    "figure_6": FIGURE_6,
    "figure_7": FIGURE_7,
    "figure_8": FIGURE_8,
    "figure_9": FIGURE_9,
    "table_1": TABLE_1,
    "figure_10": FIGURE_10,
    "figure_11": FIGURE_11,
    "figure_12": FIGURE_12,
    "figure_13": FIGURE_13,
    "figure_14": FIGURE_14,
    "exact": EXACT,
    "hinges": HINGES_ITEM,
}


def _in_one_thread(item: PaperItem) -> PaperItem:
    """The same item: what is trained beside the rounds does not depend on how many cores there are."""

    def show(played: PlayedItem) -> ItemResult:
        with single_threaded():
            return item.show(played)

    return replace(item, show=show)


PAPER = Paper(
    title="Active Membership Inference Attack under Local Differential Privacy in Federated Learning",
    authors="Nguyen, Lai, Tran, Phan and Thai",
    year=2023,
    items={name: _in_one_thread(item) for name, item in ITEMS.items()},
)
