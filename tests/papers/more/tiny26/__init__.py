"""A paper for tests."""

from leakgauge.papers.paper import Paper

PAPER = Paper(
    package=__name__,
    title="A tiny paper",
    authors="Nobody & Co",
    year=2026,
    items={"figure_1": "items:FIGURE_1", "table_1": "items:TABLE_1", "table_2": "items:TABLE_2"},
)
