import re
from importlib.resources import files

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
