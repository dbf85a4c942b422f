"""Vega-Lite charts as static SVG, so that a page shows them without JavaScript."""

import json
import re
from base64 import b64encode
from functools import lru_cache
from typing import Any

from leakgauge.support.visible_text import visible_value

VEGA_LITE = "6.4"  # the version of the schema in altair, with which the tests compare our charts
PADDING = {"left": 34, "right": 10, "top": 4, "bottom": 4}  # fonts of readers may be wider than ours
WIDTH = 520  # pixels of a static chart; the page scales it to the space that there is
LARGEST_SVG = 400_000  # characters
_THEME_COLOUR = re.compile(r"var\(--[\w-]+, (#\w+)\)")
_IDS = re.compile(r'( id="|url\(#)(clip|gradient_?)(\d+)')
_SOFT, _LINE = "var(--soft, #545d68)", "var(--line, #d8dbdf)"
CONFIG: dict[str, Any] = {
    "aria": False,  # the page has a label for each chart
    "background": "transparent",
    "font": "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": _LINE,
        "gridColor": _LINE,
        "tickColor": _LINE,
        "labelColor": _SOFT,
        "titleColor": _SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelPadding": 6,
        "gridDash": [1, 3],
        "tickSize": 4,
        "labelOverlap": True,
    },
    "axisY": {"grid": False, "labelLimit": 280},
}


def static_chart(name: str, spec: dict[str, Any]) -> str:
    """The HTML of a chart that needs no script: SVG, or an image where that would be very large."""
    svg = draw_svg(name, spec)
    return svg if len(svg) <= LARGEST_SVG else f'<img alt="" src="data:image/jpeg;base64,{_jpeg(spec)}">'


def draw_svg(name: str, spec: dict[str, Any], width: int = WIDTH) -> str:
    """Draw a chart; ``name`` comes before every id, because a page has many charts."""
    return _drawn(
        json.dumps(visible_value(_without_pointer(spec)) | {"width": width, "padding": PADDING}), name
    )


@lru_cache(maxsize=64)
def _drawn(spec: str, name: str) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, config=CONFIG, allowed_base_urls=[])
    numbers: dict[str, int] = {}  # counted from 0: those of the library go on from chart to chart
    return _IDS.sub(lambda m: f"{m[1]}{name}-{m[2]}{numbers.setdefault(m[2] + m[3], len(numbers))}", svg)


def _jpeg(spec: dict[str, Any]) -> str:
    """The chart as an image, which cannot follow the theme of the page: in the colours of the light one."""
    import vl_convert

    still = json.dumps(visible_value(_without_pointer(spec)) | {"width": WIDTH, "padding": PADDING})
    light, config = (light_colours(text) for text in (still, json.dumps(CONFIG)))
    image = vl_convert.vegalite_to_jpeg(
        light,
        vl_version=VEGA_LITE,
        config=json.loads(config) | {"background": "white"},
        scale=1.2,
        quality=75,
    )
    return b64encode(image).decode()


def light_colours(text: str) -> str:
    """The same drawing in the colours of the light theme, for pages without the styles of a report.

    >>> light_colours('fill="var(--soft, #545d68)"')
    'fill="#545d68"'
    """
    return _THEME_COLOUR.sub(r"\1", text)


def light_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart that can be drawn by itself: with a width, and with the colours and fonts of a report."""
    sized = {key: value for key, value in spec.items() if key != "autosize"} | {"width": WIDTH}
    light: dict[str, Any] = json.loads(light_colours(json.dumps({**sized, "config": CONFIG})))
    return light | {"config": light["config"] | {"background": "white"}}


def _without_pointer(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without what only a pointer brings about: zoom, and marks that show under the pointer."""
    still = {key: value for key, value in spec.items() if key != "params"}
    if "params" in spec:
        still["params"] = [one for one in spec["params"] if "select" not in one]
    if "layer" in spec:
        still["layer"] = [_without_pointer(layer) for layer in spec["layer"] if not _under_pointer(layer)]
    return still


def _under_pointer(layer: dict[str, Any]) -> bool:
    condition = layer.get("encoding", {}).get("opacity", {}).get("condition", {})
    return "param" in condition
