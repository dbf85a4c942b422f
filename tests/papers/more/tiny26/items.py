"""One figure that is simulated, one table of theory alone, one that needs data."""

from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import ComparedNumber, PublishedNumber, exact_number, not_simulated
from leakgauge.papers.paper import ItemResult, PaperItem, Scale
from leakgauge.papers.series_chart import ChartSeries, dot_series, series_chart
from leakgauge.report.charts.lines import ChartPoint
from leakgauge.report.page import Stroke


def _figure(played):
    (verdict,) = played.verdicts
    ours = metric_intervals.accuracy(verdict)
    theirs = PublishedNumber(value=0.93, places=2, where="table 1")
    chart = series_chart(
        "figure-1",
        [
            dot_series("played", [(1.0, ours)], "black"),
            ChartSeries("paper", (ChartPoint(x=1.0, value=0.93),), Stroke.DIAMOND, "red"),
        ],
        x_title="cells",
        y_title="accuracy",
        caption="<b>One</b> cell",
        alternative="One dot.",
        played="played",
    )
    return ItemResult((ComparedNumber(setting="one cell", ours=ours, published=theirs),), (chart,))


def _table(_):
    return ItemResult(
        (
            ComparedNumber(
                setting="one half",
                ours=exact_number(0.5),
                published=PublishedNumber(value=0.4, where="text"),
                why="<why>",
            ),
            ComparedNumber(setting="a third", ours=exact_number(1 / 3)),
            not_simulated("a fifth", PublishedNumber(value=0.2, where="text")),
        )
    )


def _audits(scope):
    return [
        {
            "name": "one",
            "domain": "blackbox",
            "rounds": 400 if scope.scale is Scale.QUICK else 800,
            "block": 100,
            "challenger": {"pair": [[0.0], [1.0]]},
            "mechanism": {"name": "laplace", "epsilon": 4.0},
            "attacks": [{"name": "one_threshold", "knowledge": "law"}],
        }
    ]


def _needs_data(scope):
    return [{"name": scope.need_data().name, "domain": "blackbox"}]


FIGURE_1 = PaperItem(title="Figure 1: one cell", about="One cell.", show=_figure, audits=_audits)
TABLE_1 = PaperItem(title="Table 1", about="Theory.", show=_table, notes=("A note.",))
TABLE_2 = PaperItem(title="Table 2", about="Data.", show=_table, audits=_needs_data)
