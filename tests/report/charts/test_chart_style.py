import json
import re
from importlib.resources import files

import altair
import pytest
from jsonschema import ValidationError

from leakgauge.report import run_report
from leakgauge.report.charts import chart_style


def test_colours_are_defined_in_both_themes():
    css = files("leakgauge.report").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for colour in (*chart_style.SERIES, chart_style.PROMISE, chart_style.CHANCE, chart_style.INK):
        name, fallback = re.fullmatch(r"var\((--[\w-]+), (#\w{6})\)", colour).groups()
        assert f"{name}: {fallback};" in light  # a chart taken out of the page keeps the light colours
        assert f"{name}: #" in dark


def test_colours_repeat_after_eight():
    assert chart_style.colours(10)[8:] == list(chart_style.SERIES[:2])


def test_charts_of_a_report_are_valid(every_kind, manifest, tmp_path):
    page = run_report.write_run_report(every_kind, manifest, tmp_path / "report.html").read_text()
    start = page.index('"specs":') + len('"specs":')
    specs, _ = json.JSONDecoder().raw_decode(page, start)
    assert len(specs) >= 5
    for spec in specs.values():
        altair.Chart.from_dict(spec)


def test_chart_beyond_the_schema_is_recognised():
    curved = chart_style.field("place:Q", scale={"type": "curved"})
    spec = chart_style.vega_spec(100, data={"values": []}, mark={"type": "line"}, encoding={"x": curved})
    with pytest.raises(ValidationError):
        altair.Chart.from_dict(spec)
    del curved["scale"]
    altair.Chart.from_dict(spec)
