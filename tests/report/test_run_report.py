import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.plan import MetricsTable
from leakgauge.report import run_report
from leakgauge.verdict import Finding, VerdictSubject, judge_trials, verdicts_from_json, verdicts_to_json

MOST_BYTES = 1_700_000
NASTY = '</script><script>alert(1)</script><img src=x onerror="alert(2)">{{ 7 * 7 }}'


class Outline(HTMLParser):
    """The elements of a page, as a browser sees them."""

    def __init__(self, html):
        super().__init__()
        self.elements = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture
def write(tmp_path, manifest):
    def writer(verdicts, **changes):
        path = run_report.write_run_report(verdicts, manifest | changes, tmp_path / "report.html")
        return path.read_text(encoding="utf-8")

    return writer


@pytest.fixture(scope="module")
def everything(every_kind, manifest, tmp_path_factory):
    """A report with all its sections."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return run_report.write_run_report(every_kind, manifest, path).read_text(encoding="utf-8")


def test_decision_is_first_and_glossary_last(everything, plain):
    text = plain(everything)
    parts = [
        "Promise broken",
        "What to do next",
        "Appendix",
        "Result for each attacker",
        "The numbers",
        "What was promised",
        "Members found against non-members accused",
        "Settings compared",
        "Who is exposed",
        "Was the audit able to find a leak?",
        "What the numbers are based on",
        "What was not tested",
        "How to reproduce it",
        "Words used here",
    ]
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)


def test_title_owner_release_and_date_are_at_the_top(make, write, plain):
    html = write(
        [make()], title="Hourly counts, May", owner="City of Ham", release="counts-v2", date="2026-05-01"
    )
    assert "<h1>Hourly counts, May</h1>" in html
    text = plain(html)
    assert "Owner: City of Ham · Release: counts-v2 · Date: 2026-05-01 · 1 attacker, " in text
    assert text.index("Owner:") < text.index("Risk: how well")


def test_report_is_valid_html(everything):
    page = Outline(everything)
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3")]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= set(ids)
    assert all("scope" in head for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))


def test_every_chart_has_place_and_text(everything):
    page = Outline(everything)
    specs = json.loads(everything.split('id="specs">')[1].split("</script>")[0])["specs"]
    drawings = [a for a in page.all("div") if a.get("role") == "img"]
    assert [drawing["id"] for drawing in drawings] == list(specs)
    assert all(len(drawing["aria-label"]) > 20 for drawing in drawings)


def test_report_has_no_external_links(everything):
    page = Outline(everything)
    assert page.all("link", "iframe", "object", "embed", "img", "base", "form") == []
    outside = [
        a
        for _, a in page.elements
        for key in ("src", "href", "action")
        if not a.get(key, "#").startswith("#")
    ]
    assert outside == []


def test_names_are_escaped_everywhere(make, make_estimate, write):
    bad = make(
        "many targets",
        audit=f"{NASTY}@n={NASTY}",
        label=NASTY,
        attack=NASTY,
        knowledge=NASTY,
        domain=NASTY,
        coins=NASTY,
        metrics={
            NASTY: make_estimate(0.5, method=NASTY, reason=NASTY),
            "epsilon": make_estimate(1.0, 0.5, method=NASTY),
        },
        parameters={NASTY: {NASTY: NASTY}},
        promised={
            "epsilon": 1.0,
            "unit": NASTY,
            "relation": NASTY,
            "nominal": {"epsilon": 1.0, "unit": NASTY},
        },
    )
    html = write(
        [bad, make("violated", audit="b@n=2", label=NASTY)],
        digest=NASTY,
        seed=NASTY,
        plan=NASTY + "\n",
        command=NASTY,
        looks=NASTY,
        versions={NASTY: NASTY},
        data={NASTY: NASTY},
    )
    page = Outline(html)
    assert [script.get("id") for script in page.all("script")] == ["specs", None, None]
    assert page.all("img") == []
    assert not [attributes for _, attributes in page.elements if "onerror" in attributes]
    assert "{{ 7 * 7 }}" in html


@pytest.mark.parametrize("n", [200, 1000])
def test_many_verdicts_stay_below_size_limit(make, write, n):
    verdicts = [
        make("many targets" if place % 2 else "violated", audit=f"audit-{place}", label=f"label-{place % 3}")
        for place in range(n)
    ]
    html = write(verdicts)
    assert len(html.encode()) < MOST_BYTES
    assert f"most important of {n:,} attackers" in html


def test_long_names_stay_below_size_limit(make, make_estimate, write):
    def worst(place):
        long = f"{place}" + "<b>Zürich & \U0001f600" * 200
        metrics = {
            f"{name}{long}": make_estimate(0.5, 0.4, 0.6, method=f"{name}{long}", reason=f"{name}{long}")
            for name in range(12)
        }
        usual = make("violated").metrics
        return make(
            "many targets",
            finding=Finding.VIOLATED,
            audit=f"{long}@n={place},m={long}",
            label=long,
            attack=long,
            knowledge=long,
            metrics=metrics | usual,
            parameters={
                part: {f"{n}{long}": long for n in range(9)} for part in ("data", "challenger", "mechanism")
            },
            bound_roc=make("undecided").bound_roc | {"tpr": [0.0, 0.5 + place / 1000, 1.0]},
        )

    html = write(
        [worst(place) for place in range(150)], plan="<" * 1_000_000, versions={"<" * 999: "<" * 999}
    )
    assert len(html.encode()) < MOST_BYTES


def test_verdicts_are_reported_before_and_after_saving(write, plain):
    rng = np.random.default_rng(20240501)
    rounds = np.repeat(np.arange(400), 3)
    members = rng.random(rounds.size) < 0.5
    trials = Trials(
        rounds, np.tile(np.arange(3), 400), members, members + rng.laplace(size=rounds.size), Coins.FAIR
    )
    subject = VerdictSubject(
        audit="noisy-count@epsilon=1.0",
        domain="blackbox",
        label="threshold-none",
        attack="threshold",
        knowledge="none",
        parameters={"data": {}, "challenger": {}, "mechanism": {"epsilon": 1.0}, "attack": {}},
        seed=1,
    )
    promises = [Guarantee(epsilon=1.0), Guarantee(epsilon=0.1, delta=1e-6), Guarantee(epsilon=np.inf), None]
    verdicts = [
        judge_trials(trials, guarantee=promise, subject=subject, metrics=MetricsTable(), n_verdicts=4)
        for promise in promises
    ]
    html = write(verdicts)
    assert "Promise broken" in plain(html)
    assert "no promise to compare with" in plain(html)
    assert (
        plain(write(verdicts_from_json(json.loads(json.dumps(verdicts_to_json(verdicts)))))).count(
            "Not violated"
        )
        >= 1
    )


def test_empty_manifest_is_accepted(make, tmp_path):
    assert run_report.write_run_report([make()], {}, tmp_path / "report.html").stat().st_size < MOST_BYTES


def test_rejects_empty_verdicts(tmp_path, manifest):
    with pytest.raises(BadInput, match="no verdict"):
        run_report.write_run_report([], manifest, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


SESSIONS_OF_PLANS = {
    "service": ({"service": {"url": "http://127.0.0.1:1"}}, "session", "Open more sessions"),
    "simulated": ({"budget": 1.0}, "simulated session", "Simulate more sessions"),
    "two copies": ({"service": {"url": "http://127.0.0.1:1", "ask": {}}}, "round", "Ask in more rounds"),
}


@pytest.mark.parametrize("plan", SESSIONS_OF_PLANS)
@pytest.mark.parametrize("kind", ["not violated", "violated", "undecided", "unpromised", "many targets"])
def test_report_uses_the_word_of_the_domain_for_a_round(make, write, kind, plan):
    challenger, noun, more = SESSIONS_OF_PLANS[plan]
    parameters = {"data": {}, "challenger": challenger, "mechanism": {"name": "laplace", "epsilon": 1.0}}
    spent = {"obtained": {"least": 1.0, "mean": 1.0, "most": 1.0}}
    found = make(kind, domain="queries", parameters=parameters, spent=spent, studied={"not_isolated": 0.1})
    page = write([found])
    visible = re.sub(r"\s+", " ", page)
    assert "simulated release" not in visible.lower()
    assert "more releases" not in visible
    assert f"{found.rounds:,} {noun}s" in visible
    assert f"<dt>{noun.capitalize()}</dt>" in visible
    assert f"ε spent in one {noun};" in visible
    assert f"Before the first {noun} an attacker" in visible
    if kind == "undecided":
        assert f"{more}: set rounds = 66048 in the plan" in visible
        assert f"so few {noun}s cannot show a violation" in visible


def test_report_of_audits_with_different_rounds_uses_the_general_word(make, write):
    other = make(domain="queries", audit="service", parameters={"challenger": {"service": {}}})
    page = write([make(), other])
    visible = re.sub(r"\s+", " ", page)
    assert "2,000 simulated releases and 2,000 sessions" in visible
    assert "Each attacker sees many simulated releases" in visible
