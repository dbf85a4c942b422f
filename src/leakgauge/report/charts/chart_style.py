"""What all charts share: colours that follow the page's theme, and recurring parts of Vega-Lite.

Charts are written as Vega-Lite: to import Altair and to build charts with it takes longer than the rest of a
report. The tests compare them with Altair's schema of Vega-Lite.
"""

from collections.abc import Sequence
from typing import Any

from leakgauge.report.page import LegendEntry, Stroke

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
_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}


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


def field(name: str, **properties: Any) -> dict[str, Any]:
    """A field as a channel of an encoding; ``x2`` and ``y2`` have no type of their own.

    >>> field("rate:Q", title="rate"), field("high")
    ({'field': 'rate', 'type': 'quantitative', 'title': 'rate'}, {'field': 'high'})
    """
    name, _, kind = name.partition(":")
    return {"field": name, **({"type": _TYPES[kind]} if kind else {}), **properties}


def scale(**properties: Any) -> dict[str, Any]:
    """The scale of a channel."""
    return properties


def value_if(test: str, value: Any, otherwise: Any) -> dict[str, Any]:
    """A channel with one value where the test of a row holds, and another elsewhere."""
    return {"condition": {"test": test, "value": value}, "value": otherwise}


def value_if_near(value: Any, otherwise: Any) -> dict[str, Any]:
    """A channel with one value for the row that ``near_pointer`` selects, and another for the rest."""
    return {"condition": {"param": "near", "empty": False, "value": value}, "value": otherwise}


def near_pointer(*fields: str) -> dict[str, Any]:
    """A selection of the row that is nearest to the pointer; ``fields`` tell rows apart."""
    return {
        "name": "near",
        "select": {
            "type": "point",
            "on": "pointerover",
            "clear": "pointerout",
            "nearest": True,
            "fields": list(fields),
        },
    }


def zoom(*channels: str) -> dict[str, Any]:
    """A selection that zooms and moves the axes of these channels, or both axes."""
    only = {"encodings": list(channels)} if channels else {}
    return {"name": "zoom", "select": {"type": "interval", **only}, "bind": "scales"}


def vega_spec(height: int, **parts: Any) -> dict[str, Any]:
    """A Vega-Lite specification of variable width; the page sets version and theme."""
    fitted = {"autosize": {"type": "fit-x", "contains": "padding"}, "width": "container"}
    return {**parts, **fitted, "height": height}
