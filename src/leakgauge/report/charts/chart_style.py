"""What all charts share: colours that follow the page's theme, and the conversion to Vega-Lite."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from leakgauge.report.page import Chart, LegendEntry, Stroke

Arguments = ParamSpec("Arguments")

SERIES = (
    "var(--series-1, #1f6fb2)",
    "var(--series-2, #b9531a)",
    "var(--series-3, #27825a)",
    "var(--series-4, #8449a8)",
    "var(--series-5, #8f6d00)",
    "var(--series-6, #a8436e)",
    "var(--series-7, #0d7f82)",
    "var(--series-8, #5b6470)",
)
PROMISE = "var(--promise, #b3261e)"
CHANCE = "var(--soft, #545d68)"
INK = "var(--ink, #1c2127)"
DASHES = {Stroke.LINE: [1, 0], Stroke.DASHED: [7, 4], Stroke.DOTTED: [2, 3]}


def colours(n: int) -> list[str]:
    """Colours for ``n`` series; after eight they repeat."""
    return [SERIES[place % len(SERIES)] for place in range(n)]


def unique_labels(labels: Sequence[str]) -> list[str]:
    """Each label once, in the order of its first appearance."""
    return list(dict.fromkeys(labels))


def colour_scale(keys: Sequence[LegendEntry]) -> dict[str, Any]:
    """A scale that gives each label the colour of its legend entry."""
    return {"domain": [key.label for key in keys], "range": [key.colour for key in keys]}


def dash_scale(keys: Sequence[LegendEntry]) -> dict[str, Any]:
    """A scale that gives each label the line style of its legend entry."""
    return {
        "domain": [key.label for key in keys],
        "range": [DASHES.get(key.stroke, DASHES[Stroke.LINE]) for key in keys],
    }


def inline_data(rows: Sequence[dict[str, Any]]) -> Any:
    """The data of a chart; as a tuple, because altair copies lists again with every step of a chart."""
    import altair as alt

    return alt.Data(values=tuple(rows))


def vega_spec(chart: Any, height: int | None = None) -> dict[str, Any]:
    """The chart as a Vega-Lite specification of variable width; the page sets version and theme.

    Sizes are set here: altair checks each property that it sets, also where charts are not checked.
    """
    drawn: dict[str, Any] = chart.to_dict(validate=False)
    drawn.pop("$schema", None)
    drawn.pop("config", None)
    fitted = {"autosize": {"type": "fit-x", "contains": "padding"}, "width": "container"}
    return drawn | fitted | ({} if height is None else {"height": height})


def unvalidated(draw: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """A function that draws a chart, without the checks of altair: they take most of its time.

    Altair compares every part of a chart with the schema of Vega-Lite. Our charts are the same but for their
    data, so the tests do that.
    """

    @wraps(draw)
    def draw_unvalidated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Chart:
        from altair.utils.schemapi import debug_mode

        with debug_mode(False):
            return draw(*args, **kwargs)

    return draw_unvalidated
