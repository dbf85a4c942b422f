"""Charts of a page: verdicts and reproductions use the same ones."""

from leakgauge.pages.charts.densities import Bars, Density, density_chart
from leakgauge.pages.charts.heat_map import heat_map
from leakgauge.pages.charts.intervals import Interval, interval_chart
from leakgauge.pages.charts.lines import Line, Point, line_chart
from leakgauge.pages.charts.people import people_chart
from leakgauge.pages.charts.roc import RocCurve, roc_chart

__all__ = [
    "Bars",
    "Density",
    "Interval",
    "Line",
    "Point",
    "RocCurve",
    "density_chart",
    "heat_map",
    "interval_chart",
    "line_chart",
    "people_chart",
    "roc_chart",
]
