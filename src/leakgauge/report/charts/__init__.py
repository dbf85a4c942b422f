"""Charts of a page: verdicts and reproductions use the same ones."""

from leakgauge.report.charts.heat_map import heat_map
from leakgauge.report.charts.histograms import DensityCurve, HistogramBars, density_chart, people_chart
from leakgauge.report.charts.intervals import IntervalRow, interval_chart
from leakgauge.report.charts.lines import ChartLine, ChartPoint, line_chart
from leakgauge.report.charts.roc import RocCurve, roc_chart

__all__ = [
    "ChartLine",
    "ChartPoint",
    "DensityCurve",
    "HistogramBars",
    "IntervalRow",
    "RocCurve",
    "density_chart",
    "heat_map",
    "interval_chart",
    "line_chart",
    "people_chart",
    "roc_chart",
]
