import os
import re
import shutil

import pytest

from leakgauge.papers.reproduction import reproduce
from night import others_at_night


@pytest.fixture
def page(tmp_path):
    def write(item):
        return reproduce("tiny26", only=item, out=tmp_path / "out").page.read_text()

    return write


def text_of(html):
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_outcome_comes_first(page):
    text = text_of(page("table_1"))
    assert "Does tiny26 reproduce?" in text
    assert "“A tiny paper”, Nobody &amp; Co (2026). Scale: quick." in text
    assert "Of 1 statement in the paper, 0 agree with ours and 1 differ." in text
    assert "Numbers that were not simulated: 1. Numbers that are ours only: 1. Each" in text
    assert text.index("In short") < text.index("Table 1") < text.index("How to repeat this")
    assert "theory only" in text


def test_our_number_is_shown_beside_published_with_reason(page):
    text = text_of(page("table_1"))
    assert "one half 0.4000 text 0.5000 exact differs &lt;why&gt;" in text
    assert "Where we differ, and why A note." in text
    assert "a third – 0.3333 exact ours only" in text
    assert "a fifth 0.2000 text – not simulated Not simulated at this scale; use --scale full." in text


def test_simulated_figure_has_interval_and_plan(page):
    html = page("figure_1")
    assert 'id="figure-1"' in html
    assert "&lt;b&gt;One&lt;/b&gt; cell" in html
    text = text_of(html)
    assert re.search(r"one cell 0\.93 table 1 0\.\d+ 0\.\d+ to 0\.\d+ agrees", text)
    assert "The plan of the run figure_1 seed = 20240501 [[audit]]" in text
    assert "leakgauge reproduce tiny26 --only figure_1 --scale quick" in text


@pytest.mark.parametrize("scheme", others_at_night(["light", "dark"], "light"))
def test_page_renders_offline_in_a_browser(page, tmp_path, scheme):
    if shutil.which("chromium") is None:
        assert "CI" not in os.environ, "chromium is missing where it must be there"
        pytest.skip("no chromium here: install it (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    page("figure_1")
    complaints = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        opened = browser.new_page(color_scheme=scheme)
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on(
            "request",
            lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url),
        )
        opened.goto((tmp_path / "out" / "reproduction.html").as_uri())
        opened.wait_for_function("document.documentElement.dataset.drawn === '1'")
        marks = opened.eval_on_selector_all("#figure-1 .live svg .role-mark path", "all => all.length")
        opened.locator("#figure-1").scroll_into_view_if_needed()
        box = opened.locator("#figure-1 .live svg").bounding_box()
        for step in (0, 5):
            opened.mouse.move(box["x"] + box["width"] / 2 + step, box["y"] + box["height"] / 2)
        tooltip = opened.locator("#vg-tooltip-element.visible")
        tooltip.wait_for()
        touched = " ".join(tooltip.inner_text().split())
        browser.close()
    assert complaints == []
    assert marks >= 2
    assert re.fullmatch(r"cells 1 accuracy 0\.\d+ (\(0\.\d+ to 0\.\d+\) · played|· paper)", touched)
