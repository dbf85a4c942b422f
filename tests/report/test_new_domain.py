"""A domain that the report has never heard of brings all its own words."""

import textwrap

import pytest

import leakgauge.domains
from leakgauge.report.decision import decision_of
from leakgauge.report.judged_run import JudgedRun, domains_of
from leakgauge.report.sections import exposure, privacy_budget, risk_utility, study_results

INVENTED = """
    from dataclasses import replace

    from leakgauge.core.domain import ExposureSpec, Term
    from leakgauge.domains import blackbox

    DOMAIN = replace(
        blackbox.DOMAIN,
        package=__name__,
        knowledge_terms={"near": Term(title="near"), "deaf": Term(title="deaf")},
        controls=("deaf",),
        exposure=ExposureSpec(function="exposure:expose", steps=("all",), part="whisper"),
        studied={"loudness": Term(title="Loudness heard", meaning="in decibels", bound="upper")},
        utility={"songs": Term(title="Songs enjoyed", is_share=True)},
        main_utility=("songs",),
        spending={"heard": Term(title="Heard"), "noted": Term(title="Noted")},
        spending_note="Walls have ears.",
        spending_check=("heard", "noted"),
    )
"""


@pytest.fixture
def invented(tmp_path, monkeypatch, make):
    """Build a verdict about a domain that only this test declares."""
    folder = tmp_path / "whispers_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text(textwrap.dedent(INVENTED))
    monkeypatch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(tmp_path)])
    return lambda **changes: make(domain=folder.name, **changes)


def test_numbers_use_declared_titles_and_rounding(invented, plain):
    run = JudgedRun([invented(studied={"loudness": 1.2301}, utility={"songs": 0.6123})], {})
    text = plain(study_results.section(run).html)
    assert "Loudness heard" in text
    assert "≤ 1.24" in text
    assert "Loudness heard: in decibels." in text
    assert "Songs enjoyed" in plain(risk_utility.section(run).html)
    assert [domain.name for domain in domains_of(run.verdicts)] == ["whispers_of_a_test"]


def test_spending_uses_declared_columns_and_note(invented, plain):
    spent = {
        name: {"least": most, "mean": most, "most": most} for name, most in (("noted", 1.0), ("heard", 2.0))
    }
    html = privacy_budget.section(JudgedRun([invented(spent=spent)], {})).html
    assert "Walls have ears." in html
    assert plain(html).rstrip().endswith("2 1")
    assert '<td class="n beyond">2</td>' in html


def test_declared_control_is_never_best(invented, make_estimate):
    right = {"accuracy": make_estimate(0.9, 0.89, 0.91)}
    seeing, control = invented(knowledge="near", metrics=right), invented(knowledge="deaf", metrics=right)
    number = decision_of(JudgedRun([control, seeing], {})).number
    assert (number.attacker, number.control) == ("near", "90.0%")


def test_exposure_uses_declared_terms(invented):
    audit = {"domain": invented().domain, "promised": {"delta": {"1.0": 0.1}, "nominal": {"unit": "event"}}}
    assert "over all the whispers they affect" in exposure.personal_promise(audit)
