import re
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np

from leakgauge.report.charts.heat_map import heat_map
from leakgauge.report.charts.roc import RocCurve, roc_chart
from leakgauge.report.static_svg import LARGEST_SVG, _drawn, draw_svg, static_chart

CURVE = RocCurve("a <b> & 'c'", (0.0, 0.2, 1.0), (0.0, 0.7, 1.0))


def drawn(name="roc"):
    chart = roc_chart(name, [CURVE], log=False, caption="c", alternative="a curve")
    return draw_svg(chart.name, chart.spec)


def test_svg_is_well_formed_and_has_no_script_or_link():
    root = ElementTree.fromstring(drawn())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert {"svg", "path", "text"} <= tags
    assert not tags & {"script", "a", "image", "foreignObject", "style"}


def test_colours_follow_the_theme_of_the_page():
    assert "var(--series-1, #1f6fb2)" in drawn()


def test_ids_differ_between_charts():
    ids = [set(re.findall(r'\bid="([^"]+)"', drawn(name))) for name in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    used = set(re.findall(r"url\(#([^)]+)\)", drawn("one")))
    assert used <= ids[0]


def test_marks_under_the_pointer_are_left_out():
    assert drawn().count('class="mark-symbol') == 0


def test_very_large_chart_is_an_image_in_plain_colours():
    values = np.random.default_rng(5).normal(size=(64, 168))
    chart = heat_map("heat", values, x_title="x", y_title="y", caption="c", alternative="a heat map")
    html = static_chart(chart.name, chart.spec)
    assert html.startswith('<img alt="" src="data:image/jpeg;base64,')
    assert b64decode(html.split("base64,")[1].rstrip('">')).startswith(b"\xff\xd8\xff")
    assert len(html) < LARGEST_SVG
    assert (
        static_chart("roc", roc_chart("roc", [CURVE], log=False, caption="c", alternative="a").spec)
        == drawn()
    )


def test_same_chart_is_drawn_the_same():
    assert drawn() == drawn()


def test_a_chart_is_the_same_whatever_was_drawn_before():
    spec = {"mark": {"type": "point", "clip": True}, "data": {"values": [{"a": 1}]}}
    first = draw_svg("one", spec)
    _drawn.cache_clear()
    draw_svg("two", spec)
    assert draw_svg("one", spec) == first
    assert "url(#one-clip0)" in first
