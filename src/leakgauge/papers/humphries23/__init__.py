"""Humphries et al. (2023): membership inference where records depend on one another."""

from leakgauge.papers.humphries23.attribute_bias import FIGURE_4, FIGURE_5
from leakgauge.papers.humphries23.figure_1 import FIGURE_1
from leakgauge.papers.humphries23.member_groups import (
    FIGURE_2,
    FIGURE_3,
    FIGURE_6,
    FIGURE_7,
    FIGURE_8,
    FIGURE_9,
)
from leakgauge.papers.humphries23.table_2 import TABLE_2
from leakgauge.papers.paper import Paper

PAPER = Paper(
    title="Investigating Membership Inference Attacks under Data Dependencies",
    authors="Humphries, Oya, Tulloch, Rafuse, Goldberg, Hengartner and Kerschbaum",
    year=2023,
    items={
        "figure_1": FIGURE_1,
        "table_2": TABLE_2,
        "figure_2": FIGURE_2.item,
        "figure_3": FIGURE_3.item,
        "figure_4": FIGURE_4,
        "figure_5": FIGURE_5,
        "figure_6": FIGURE_6.item,
        "figure_7": FIGURE_7.item,
        "figure_8": FIGURE_8.item,
        "figure_9": FIGURE_9.item,
    },
)
