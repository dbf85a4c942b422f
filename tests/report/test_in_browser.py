"""A report in a real browser: the decision on the first screen and page, charts with and without scripts."""

import os
import re
import shutil
from pathlib import Path

import pytest

from leakgauge.report import run_report
from night import others_at_night

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BAD_NAMES = ("<script>window.broken=1</script>", "<img src=x onerror='broken=2'>")
PATIENCE = 300_000  # milliseconds, for a page that hangs; a busy machine may be slow
PAPER = 700  # pixels between the margins of A4
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}

# Every element with text of its own, against the nearest background that is not transparent (WCAG 2.1).
CONTRASTS = """() => {
  const parts = (colour) => {
    const p = colour.match(/[\\d.]+/g).map(Number);
    return [...p.slice(0, 3), p[3] ?? 1];
  };
  const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (parts(colour)[3] === 1) return colour;
    }
    throw new Error("no background");
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    const style = getComputedStyle(element), svg = element instanceof SVGElement;
    const [a, b] = [light(svg ? style.fill : style.color), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push({ ratio, what: element.tagName + " " + element.textContent.trim().slice(0, 40) });
  }
  return found;
}"""

# Where a point of a chart is on the screen.
POSITION = """([name, x, y]) => {
  const view = leakgaugeViews[name], across = view.scale("x"), up = view.scale("y");
  const box = view.container().querySelector(".root .background").getBoundingClientRect();
  return [box.x + across(x), box.y + up(y) + (up.bandwidth ? up.bandwidth() / 2 : 0)];
}"""
DOMAIN = "([name, axis]) => leakgaugeViews[name].scale(axis).domain()"


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        if os.environ.get("CI"):
            pytest.fail("no chromium here: continuous integration must install it")
        pytest.skip("no chromium here: install it (Debian: apt-get install chromium) to see reports tested")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(every_kind, make, manifest, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    verdicts = [*every_kind, *(make(audit="names", label=name) for name in BAD_NAMES)]
    manifest = manifest | {"data": {"counts-by-hour": "f00d"}}
    return run_report.write_run_report(verdicts, manifest, path).as_uri()


def patient(context):
    context.set_default_timeout(PATIENCE)
    return context


class Reader:
    """Opens the report; nothing may complain and nothing may be asked of a network."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.contexts, self.complaints = [], []

    def __call__(self, scheme="light", viewport=DESK, **more):
        context = self.browser.new_context(
            color_scheme=scheme, viewport=viewport, reduced_motion="reduce", **more
        )
        self.contexts.append(patient(context))
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.note_request)
        page.goto(self.address)
        page.wait_for_function("document.documentElement.dataset.drawn")
        return page

    def note_request(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.complaints.append(request.url)

    def close(self):
        for context in self.contexts:
            context.close()
        assert self.complaints == []


@pytest.fixture
def open_page(browser, address):
    reader = Reader(browser, address)
    yield reader
    reader.close()


@pytest.fixture(scope="module")
def page(browser, address):
    """A report for tests that leave it as they found it: opening one takes a second or two."""
    reader = Reader(browser, address)
    yield reader()
    reader.close()


def go_to(page, chart, x, y):
    """Bring a chart into view and put the pointer on one of its points."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    left, top = page.evaluate(POSITION, [chart, x, y])
    page.mouse.move(left - 3, top - 3)
    page.mouse.move(left, top)


def tooltip(page):
    shown = page.locator("#vg-tooltip-element.visible")
    shown.wait_for()
    return " ".join(shown.inner_text().split())


def test_every_chart_is_drawn(page):
    names = page.eval_on_selector_all(".drawing", "all => all.map((each) => each.id)")
    assert len(names) == int(page.evaluate("document.documentElement.dataset.drawn")) >= 7
    assert page.locator(".drawing.drawn").count() == len(names)
    marks = """(all) => all.filter((mark) => mark.getBBox().width + mark.getBBox().height > 0
      && (mark.closest(".role-mark") !== null)).length"""
    for name in names:
        assert page.eval_on_selector_all(f"#{name} .live svg :is(path, line, rect)", marks) > 0, name
        box = page.locator(f"#{name} .live svg").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 40


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_is_readable(open_page, scheme):
    page = open_page(scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    go_to(page, "roc-1-linear", 0.5, 0.5)
    tooltip(page)
    found = page.evaluate(CONTRASTS)
    assert len(found) > 500
    assert any(each["what"].startswith("text") for each in found)  # words in the charts
    assert [each for each in found if each["ratio"] < 4.5] == []


def test_themes_have_expected_backgrounds(open_page):
    backgrounds = [
        open_page(scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    light, dark = (sum(map(int, colour.strip("rgb()").split(","))) for colour in backgrounds)
    assert light > 600
    assert dark < 120


def test_charts_follow_theme_changes(open_page):
    page = open_page("light")
    text = page.locator("#measured-epsilon .live svg text").first
    before = text.evaluate("(each) => getComputedStyle(each).fill")
    page.emulate_media(color_scheme="dark")
    assert text.evaluate("(each) => getComputedStyle(each).fill") != before


def test_print_is_always_light(open_page):
    page = open_page("dark")
    page.emulate_media(media="print", color_scheme="dark")
    text = page.locator("#measured-epsilon .static svg text").first
    ink = text.evaluate("(each) => getComputedStyle(each).fill")
    assert text.is_visible()
    assert page.locator("#measured-epsilon .live").is_hidden()
    assert sum(map(int, ink.strip("rgb()").split(","))) < 400


def test_hover_on_curve_shows_nearest_point(page):
    # The made-up bound of epsilon 1 has its corner at (1 / (1 + e), e / (1 + e)).
    go_to(page, "roc-1-linear", 0.26894, 0.73106)
    assert tooltip(page) == "curve most the promise allows non-members accused 26.9% members found 73.1%"


def test_hover_on_bar_shows_bound(page):
    go_to(page, "measured-epsilon", 0.5, "counts-by-hour · learned-event")
    assert tooltip(page) == (
        "who counts-by-hour · learned-event measured at least 1.43, 95% confidence allowed 1"
    )


def test_hover_on_sweep_shows_point(page):
    go_to(page, "sweep-0-accuracy", 1.0, 1 / (1 + 2.718281828**-0.8))
    assert "epsilon 1 value 69.0% (66.9% to 71.0%)" in tooltip(page)


@pytest.mark.parametrize("chart", ["roc-1-linear", "roc-1-log", "sweep-0-epsilon"])
def test_wheel_zooms_and_double_click_resets(page, chart):
    before = [page.evaluate(DOMAIN, [chart, axis]) for axis in "xy"]
    middle = [(low * high) ** 0.5 if "log" in chart else (low + high) / 2 for low, high in before]
    go_to(page, chart, *middle)
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"leakgaugeViews['{chart}'].scale('x').domain()[1] < {before[0][1]}")
    after = [page.evaluate(DOMAIN, [chart, axis]) for axis in "xy"]
    for (low, high), (new_low, new_high) in zip(before, after, strict=True):
        assert low < new_low < new_high < high
    page.mouse.dblclick(*page.evaluate(POSITION, [chart, *[sum(ends) / 2 for ends in after]]))
    page.wait_for_function(f"leakgaugeViews['{chart}'].scale('x').domain()[1] === {before[0][1]}")


def test_dragging_pans(open_page):
    page = open_page()
    go_to(page, "roc-1-linear", 0.5, 0.5)
    page.mouse.down()
    page.mouse.move(*page.evaluate(POSITION, ["roc-1-linear", 0.3, 0.5]), steps=4)
    page.mouse.up()
    assert page.evaluate(DOMAIN, ["roc-1-linear", "x"]) == pytest.approx([0.2, 1.2], abs=0.02)


def test_bars_zoom_along_epsilon_axis(open_page):
    page = open_page()
    before = page.evaluate(DOMAIN, ["measured-epsilon", "x"])
    go_to(page, "measured-epsilon", 0.5, "counts-by-hour · learned-event")
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"leakgaugeViews['measured-epsilon'].scale('x').domain()[1] < {before[1]}")


def test_page_scrolls_past_charts(open_page):
    page = open_page()
    chart = page.locator("#roc-1-linear")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.evaluate(f"scrollBy(0, {box['y'] - 700})")  # the chart begins below the pointer
    page.mouse.move(box["x"] + 200, 500)
    before = page.evaluate(DOMAIN, ["roc-1-linear", "x"])
    for _ in range(8):
        start = page.evaluate("scrollY")
        page.mouse.wheel(0, 60)
        page.wait_for_function(f"scrollY > {start}")
    top = chart.bounding_box()["y"]
    assert top < 500 < top + box["height"]  # by now the chart is under the pointer
    assert page.evaluate(DOMAIN, ["roc-1-linear", "x"]) == before


def test_names_are_not_executed(page):
    assert page.evaluate("window.broken") is None
    assert all(page.get_by_text(name).count() > 0 for name in BAD_NAMES)


def test_narrow_screen_needs_no_horizontal_scrolling(open_page):
    page = open_page(viewport=PHONE, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    widths = page.eval_on_selector_all(
        ".live svg", "all => all.map((each) => each.getBoundingClientRect().width)"
    )
    assert max(widths) <= PHONE["width"]


def test_results_are_not_cut_off_on_the_phone(open_page):
    page = open_page(viewport=PHONE)
    widths = page.evaluate(
        "[...document.querySelectorAll('.scroll > table.stack')].map(t => "
        "[t.scrollWidth, t.parentElement.clientWidth, t.parentElement.scrollWidth])"
    )
    assert widths
    assert all(table <= room == content for table, room, content in widths)
    labels = page.evaluate(
        "[...document.querySelectorAll('table.stack tbody tr:first-child td')].map(c => c.dataset.label)"
    )
    assert labels[:3] == ["Who", "Promise", "Risk"]


def test_charts_are_there_without_javascript(browser, address):
    context = patient(browser.new_context(java_script_enabled=False, viewport=DESK))
    page = context.new_page()
    page.goto(address)
    drawings = page.locator(".drawing")
    assert drawings.count() >= 7
    for place in range(drawings.count()):
        box = drawings.nth(place).locator(".static svg").bounding_box()
        assert box["width"] > 200
        assert box["height"] > 40
    assert page.get_by_text("≥ 1.43").first.is_visible()
    context.close()


def test_static_charts_fit_the_phone(browser, address):
    context = patient(browser.new_context(java_script_enabled=False, viewport=PHONE))
    page = context.new_page()
    page.goto(address)
    for box in (each.bounding_box() for each in page.locator(".static svg").all()):
        assert box["x"] + box["width"] <= PHONE["width"]
    context.close()


def test_every_chart_keeps_its_label(page):
    labels = page.eval_on_selector_all(
        ".drawing", "all => all.map((each) => [each.getAttribute('role'), each.getAttribute('aria-label')])"
    )
    assert len(labels) >= 7
    assert all(role == "img" and len(label) > 20 for role, label in labels)


@pytest.mark.parametrize("viewport", [DESK, PHONE])
@pytest.mark.parametrize("scripts", [True, False])
def test_first_screen_holds_the_decision_both_lamps_and_the_leading_number(
    browser, address, viewport, scripts
):
    context = patient(browser.new_context(java_script_enabled=scripts, viewport=viewport))
    page = context.new_page()
    page.goto(address)
    for part in ("#decision", "#risk", "#promise", "#leading-number"):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= viewport["width"], part
        assert box["y"] + box["height"] <= viewport["height"], part
    context.close()


def test_desk_shows_the_whole_decision_at_once(page):
    page.evaluate("scrollTo(0, 0)")
    box = page.locator(".opening").bounding_box()
    assert box["y"] + box["height"] <= DESK["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_lamp_is_readable(open_page, scheme):
    page = open_page(scheme)
    for tone in ("bad", "warn", "good", "neutral"):
        page.eval_on_selector_all(
            ".lamp", f"all => all.forEach((each) => {{ each.className = 'lamp {tone}'; }})"
        )
        found = page.evaluate(CONTRASTS)
        assert [each for each in found if each["ratio"] < 4.5] == [], tone


def pages(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("paper", others_at_night(["A4", "Letter"], "A4"))
def test_first_printed_page_is_the_decision(open_page, paper):
    page = open_page()
    assert pages(page.pdf(format=paper)) > 2
    page.emulate_media(media="print")
    assert page.locator(".opening").evaluate("(each) => getComputedStyle(each).breakAfter") == "page"
    page.evaluate("document.querySelectorAll('section, nav, footer').forEach((each) => each.remove())")
    assert pages(page.pdf(format=paper)) == 1


def test_nothing_is_wider_than_the_paper(open_page):
    """A browser shrinks every page until the widest table fits, also the page with the decision."""
    page = open_page(viewport={"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    assert page.locator("table").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER


def test_print_shows_the_whole_plan_and_the_digest_of_own_code(open_page):
    page = open_page()
    page.emulate_media(media="print")
    plan = page.locator("pre.plan")
    assert plan.evaluate("(each) => each.scrollHeight - each.clientHeight") <= 1
    assert plan.get_by_text("counts-by-hour").is_visible()
    assert page.get_by_text("Digest of your data and code").is_visible()


def test_main_tables_fit_the_desk(browser, address):
    context = patient(browser.new_context(viewport=DESK))
    page = context.new_page()
    page.goto(address)
    overflow = page.eval_on_selector_all(
        "section:nth-of-type(-n+2) .scroll", "all => all.map((each) => each.scrollWidth - each.clientWidth)"
    )
    assert overflow
    assert max(overflow) <= 0
    context.close()
