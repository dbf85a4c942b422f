"""Nguyen et al. (2023): a dishonest server against federated clients with local differential privacy."""

from dataclasses import replace

from leakgauge.papers.nguyen23.calibrated import EXACT
from leakgauge.papers.nguyen23.certified import FIGURE_7, FIGURE_12
from leakgauge.papers.nguyen23.figure_6 import FIGURE_6
from leakgauge.papers.nguyen23.figure_9 import FIGURE_9
from leakgauge.papers.nguyen23.kept_ratio import HINGES_ITEM
from leakgauge.papers.nguyen23.noisy_gradients import FIGURE_13
from leakgauge.papers.nguyen23.success import FIGURE_5, FIGURE_11
from leakgauge.papers.nguyen23.table_1 import TABLE_1
from leakgauge.papers.nguyen23.values import FIGURE_10
from leakgauge.papers.nguyen23.weights import FIGURE_8, FIGURE_14
from leakgauge.papers.paper import Item, Paper, Played, Shown
from leakgauge.runner.threads import one_thread

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


def _in_one_thread(item: Item) -> Item:
    """The same item: what is trained beside the rounds does not depend on how many cores there are."""

    def show(played: Played) -> Shown:
        with one_thread():
            return item.show(played)

    return replace(item, show=show)


PAPER = Paper(
    title="Active Membership Inference Attack under Local Differential Privacy in Federated Learning",
    authors="Nguyen, Lai, Tran, Phan and Thai",
    year=2023,
    items={name: _in_one_thread(item) for name, item in ITEMS.items()},
)
