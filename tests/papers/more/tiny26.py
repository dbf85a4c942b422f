"""A paper for tests: one figure that is played, one table of theory alone, one that needs data."""

from leakgauge.pages.charts import Point
from leakgauge.pages.page import Stroke
from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, exactly
from leakgauge.papers.paper import Item, Paper, Scale, Shown
from leakgauge.papers.traces import Trace, dots, trace_chart

PLAN = """
[[audit]]
name = "one"
domain = "blackbox"
rounds = {rounds}
block = 100
challenger = {{ pair = [[0.0], [1.0]] }}
mechanism = {{ name = "laplace", epsilon = 4.0 }}
attacks = [{{ name = "one_threshold", knowledge = "law" }}]
"""


def _figure(played):
    (verdict,) = played.verdicts
    ours = measured.accuracy(verdict)
    theirs = Published(value=0.93, places=2, where="table 1")
    chart = trace_chart(
        "figure-1",
        [
            dots("played", [(1.0, ours)], "black"),
            Trace("paper", (Point(x=1.0, value=0.93),), Stroke.DIAMOND, "red"),
        ],
        x_title="cells",
        y_title="accuracy",
        caption="<b>One</b> cell",
        alternative="One dot.",
        played="played",
    )
    return Shown((Cell(setting="one cell", ours=ours, published=theirs),), (chart,))


def _table(_):
    return Shown(
        (
            Cell(
                setting="one half",
                ours=exactly(0.5),
                published=Published(value=0.4, where="text"),
                why="<why>",
            ),
            Cell(setting="a third", ours=exactly(1 / 3)),
        )
    )


def _needs_data(scope):
    return f"# {scope.need_data().name}"


PAPER = Paper(
    title="A tiny paper",
    authors="Nobody & Co",
    year=2026,
    items={
        "figure_1": Item(
            title="Figure 1: one cell",
            about="One cell.",
            show=_figure,
            plan=lambda scope: PLAN.format(rounds=400 if scope.scale is Scale.QUICK else 800),
        ),
        "table_1": Item(title="Table 1", about="Theory.", show=_table, notes=("A note.",)),
        "table_2": Item(title="Table 2", about="Data.", show=_table, plan=_needs_data),
    },
)
