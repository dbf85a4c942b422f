"""Charts of a page: verdicts and reproductions use the same three."""

from leakgauge.pages.charts.intervals import Interval, interval_chart
from leakgauge.pages.charts.lines import Line, Point, line_chart
from leakgauge.pages.charts.roc import RocCurve, roc_chart

__all__ = ["Interval", "Line", "Point", "RocCurve", "interval_chart", "line_chart", "roc_chart"]
