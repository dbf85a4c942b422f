import re
from importlib.resources import files

from leakgauge.pages.charts import paint


def test_every_colour_is_known_to_the_page_in_both_themes():
    css = files("leakgauge.pages").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for colour in (*paint.SERIES, paint.PROMISE, paint.CHANCE, paint.INK):
        name, fallback = re.fullmatch(r"var\((--[\w-]+), (#\w{6})\)", colour).groups()
        assert f"{name}: {fallback};" in light  # a chart taken out of the page keeps the light colours
        assert f"{name}: #" in dark


def test_colours_start_again_after_eight():
    assert paint.colours(10)[8:] == list(paint.SERIES[:2])
