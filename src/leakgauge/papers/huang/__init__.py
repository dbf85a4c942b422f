"""Huang et al. (2020): one linear query split into many, a t-test of the answers, and revealing refusals."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="Unexpected Information Leakage of Differential Privacy Due to Linear Property of Queries",
    authors="Huang, Zhou and Liao",
    year=2020,
    items={
        "cases": "refusal_cases:CASES",
        "table_1": "table_1:TABLE_1",
        "figure_3": "figures_3_and_4:FIGURE_3",
        "figure_4": "figures_3_and_4:FIGURE_4",
        "statements": "statements:STATEMENTS",
        "sums": "bounded_sums:SUMS",
    },
)
