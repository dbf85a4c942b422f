import pytest

from leakgauge.pages.headline import badge_of, headline, tone_of

KINDS = ["violated", "not violated", "undecided", "unpromised"]


def test_the_gravest_finding_sets_the_tone(make):
    kinds = [make(kind) for kind in KINDS]
    assert headline(kinds).tone == "violated"
    assert headline(kinds[1:]).tone == "undecided"
    assert headline([kinds[1], kinds[3]]).tone == "not-violated"
    assert headline(kinds[3:]).tone == "no-promise"


def test_who_and_how_many_is_said(make):
    assert "1 of 2 adversaries learned" in headline([make("violated"), make()]).explanation
    assert "The adversary learned" in headline([make("violated")]).explanation
    assert "None of 2 adversaries got past" in headline([make(), make()]).explanation
    assert "For 1 of 2 adversaries" in headline([make("undecided"), make()]).explanation


def test_not_violated_is_never_sold_as_proof(make):
    assert "never prove" in headline([make()]).explanation


def test_a_risk_is_stated_for_all_adversaries_only_if_the_findings_are_corrected_for_all(make):
    corrected = [make("violated", corrected_for=2), make(corrected_for=2)]
    assert "at most 5% of cases." in headline(corrected).explanation
    assert "each adversary by itself" in headline([make("violated"), make()]).explanation


def test_the_risk_follows_the_confidence(make, make_estimate):
    sure = make("violated", metrics={"epsilon": make_estimate(2.0, 1.5, confidence=0.99)})
    assert "at most 1% of cases" in headline([sure]).explanation


@pytest.mark.parametrize(
    ("kind", "tone", "badge"),
    [
        ("violated", "violated", "Violated"),
        ("not violated", "not-violated", "Not violated"),
        ("undecided", "undecided", "Undecided"),
        ("unpromised", "no-promise", "No promise to compare with"),
    ],
)
def test_each_finding_has_its_tone_and_badge(make, kind, tone, badge):
    assert (tone_of(make(kind)), badge_of(make(kind))) == (tone, badge)


def test_a_promise_that_allows_anything_is_called_weak(make):
    promised = {"epsilon": 666.0, "delta": 0.0, "relation": "add_remove", "unit": "user"}
    weak = make("undecided", promised={**promised, "nominal": None, "exact_epsilon": None})
    top = headline([weak])
    assert top.tone == "undecided"
    assert "too weak" in top.statement
    assert "ε = 666 or more to a person" in top.explanation
    assert "too weak" not in headline([weak, make("violated")]).statement


def test_a_promise_to_records_that_depend_on_one_another_names_the_bound_that_does_not_apply(make):
    promised = {"epsilon": 24_026.0, "delta": 1e-5, "relation": "replace_one", "unit": "group"}
    group = make(
        "undecided",
        promised={**promised, "nominal": {"epsilon": 1.0, "unit": "record"}, "exact_epsilon": None},
        bounds={"epsilon": 24_026.0, "advantage_independent": 0.4621},
    )
    told = headline([group]).explanation
    assert "an advantage of 0.463 at most" in told
    assert "does not describe this risk" in told
    assert "next to none" in told


def test_weak_promises_beside_others_are_told_apart_from_rounds_that_were_too_few(make):
    promised = {"epsilon": 24_026.0, "delta": 1e-5, "relation": "replace_one", "unit": "group"}
    weak = make("undecided", promised={**promised, "nominal": None, "exact_epsilon": None})
    mixed = headline([weak, make("not violated"), weak])
    assert mixed.statement == "Undecided: some promises are too weak to be broken."
    assert "For 2 of 3 adversaries, no attack can break the promise." in mixed.explanation
    assert "ε = 24,026, is next to none" in mixed.explanation
    assert "No other adversary got past its promise." in mixed.explanation
    assert "without a single error" not in mixed.explanation
    both = headline([weak, make("undecided"), make("not violated")])
    assert both.statement.startswith(
        "Undecided: some promises are too weak to be broken; elsewhere these rounds"
    )
    assert "For 1 of 3 adversaries, even an attack without a single error" in both.explanation
    assert "For 1 of 3 adversaries, no attack can break the promise." in both.explanation
