"""Huang et al. (2020): linear queries split into many, a t-test of the answers, and refusals that tell."""

from leakgauge.papers.huang.bounded_sums import SUMS
from leakgauge.papers.huang.figures_3_and_4 import FIGURE_3, FIGURE_4
from leakgauge.papers.huang.refusal_cases import CASES
from leakgauge.papers.huang.table_1 import TABLE_1
from leakgauge.papers.paper import Paper

PAPER = Paper(
    title="Unexpected Information Leakage of Differential Privacy Due to Linear Property of Queries",
    authors="Huang, Zhou and Liao",
    year=2020,
    items={"cases": CASES, "table_1": TABLE_1, "figure_3": FIGURE_3, "figure_4": FIGURE_4, "sums": SUMS},
)
