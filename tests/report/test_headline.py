import pytest

from leakgauge.report.headline import badge_of, headline, identification_answer, tone_of

KINDS = ["violated", "not violated", "undecided", "unpromised"]


def test_worst_finding_sets_the_tone(make):
    kinds = [make(kind) for kind in KINDS]
    assert headline(kinds).tone == "violated"
    assert headline(kinds[1:]).tone == "undecided"
    assert headline([kinds[1], kinds[3]]).tone == "not-violated"
    assert headline(kinds[3:]).tone == "no-promise"


def test_attackers_are_counted_in_the_text(make):
    assert "1 of 2 adversaries learned" in headline([make("violated"), make()]).explanation
    assert "The adversary learned" in headline([make("violated")]).explanation
    assert "None of 2 adversaries got past" in headline([make(), make()]).explanation
    assert "For 1 of 2 adversaries" in headline([make("undecided"), make()]).explanation


def test_not_violated_is_not_called_proof(make):
    assert "never prove" in headline([make()]).explanation


def test_error_covers_all_attackers_only_if_corrected(make):
    corrected = [make("violated", corrected_for=2), make(corrected_for=2)]
    assert "at most 5% of cases." in headline(corrected).explanation
    assert "each adversary by itself" in headline([make("violated"), make()]).explanation


def test_stated_error_follows_confidence(make, make_estimate):
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
def test_each_finding_has_tone_and_badge(make, kind, tone, badge):
    assert (tone_of(make(kind)), badge_of(make(kind))) == (tone, badge)


def test_promise_allowing_anything_is_called_weak(make):
    promised = {"epsilon": 666.0, "delta": 0.0, "relation": "add_remove", "unit": "user"}
    weak = make("undecided", promised={**promised, "nominal": None, "exact_epsilon": None})
    top = headline([weak])
    assert top.tone == "undecided"
    assert "too weak" in top.statement
    assert "ε = 666 or more to a person" in top.explanation
    assert "too weak" not in headline([weak, make("violated")]).statement


def test_dependent_records_name_the_inapplicable_bound(make):
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


def test_weak_promises_are_separated_from_too_few_rounds(make):
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


def right(make_estimate, value):
    return {"accuracy": make_estimate(value, value - 0.0201, value + 0.0199)}


def test_best_attacker_is_named_with_interval(make, make_estimate):
    for kind in ("violated", "not violated", "undecided", "unpromised"):
        poor = make(kind, label="poor", metrics=right(make_estimate, 0.61))
        good = make(kind, label="good", metrics=right(make_estimate, 0.95))
        told = identification_answer([poor, good])
        assert told.startswith(
            "good, the best of 2 adversaries, was right 95.0% of the time (92.9% to 97.0%)"
        )
        assert "picked by these rounds" in told  # the best of many looks better than it is
        assert "poor" not in told  # it knows the same and does worse


def test_best_of_other_knowledge_is_from_same_audit(make, make_estimate):
    verdicts = [
        make(audit=audit, label=f"{value}", knowledge=knowledge, metrics=right(make_estimate, value))
        for audit, knowledge, value in [
            ("strong", "zero", 0.55),
            ("weak", "zero", 0.70),
            ("weak", "zero", 0.75),
            ("weak", "auxiliary", 0.80),
            ("weak", "informed", 0.90),
        ]
    ]
    told = identification_answer(verdicts)
    assert "weak · 0.9, the best of 5 adversaries, was right 90.0%" in told
    assert "auxiliary 80.0% of the time (77.9% to 82.0%), zero 75.0% of the time (72.9% to 77.0%)." in told
    assert "55.0%" not in told


def test_single_attacker_is_not_called_best(make, make_estimate):
    told = identification_answer([make(label="alone", metrics=right(make_estimate, 0.61))])
    assert told == (
        "alone was right 61.0% of the time (58.9% to 63.0%); blind guessing is right half of the time."
    )


def test_no_answer_without_accuracy(make, make_estimate):
    assert identification_answer([make(metrics={"accuracy": make_estimate(None)})]) == ""
    assert identification_answer([make(metrics={})]) == ""


def test_mean_over_targets_decides_the_best(make, make_estimate):
    def metrics(pooled, mean):
        return {"accuracy": make_estimate(pooled), "accuracy_mean": make_estimate(mean, mean - 0.0201, 0.97)}

    even = make(n_targets=9, label="even", knowledge="zero", metrics=metrics(0.80, 0.81))
    uneven = make(n_targets=9, label="uneven", metrics=metrics(0.60, 0.95))
    assert identification_answer([even, uneven]) == (
        "uneven, the best of 2 adversaries, was right 95.0% of the time on average over the targets "
        "(92.9% to 97.0%); blind guessing is right half of the time. It was picked by these rounds, and "
        "its interval is that of one adversary. The best with other knowledge in the same audit: zero 81.0% "
        "of the time (78.9% to 97.0%)."
    )


def test_blind_control_is_never_best(make, make_estimate):
    seeing = make(label="loss", knowledge="training_loss", metrics=right(make_estimate, 0.86))
    control = make(domain="models", label="blind", knowledge="blind", metrics=right(make_estimate, 0.97))
    told = identification_answer([control, seeing])
    assert told.startswith("loss was right 86.0% of the time")
    assert told.endswith("Without a look at the release one is right 97.0% of the time (94.9% to 99.0%).")
    assert identification_answer([control]).startswith("blind was right 97.0%")
