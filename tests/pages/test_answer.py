from leakgauge.pages.answer import answer


def right(make_estimate, value):
    return {"accuracy": make_estimate(value, value - 0.0201, value + 0.0199)}


def test_the_best_adversary_is_named_with_its_interval_whatever_the_finding(make, make_estimate):
    for kind in ("violated", "not violated", "undecided", "unpromised"):
        poor = make(kind, label="poor", metrics=right(make_estimate, 0.61))
        good = make(kind, label="good", metrics=right(make_estimate, 0.95))
        told = answer([poor, good])
        assert told.startswith(
            "good, the best of 2 adversaries, was right 95.0% of the time (92.9% to 97.0%)"
        )
        assert "picked by these rounds" in told  # the best of many looks better than it is
        assert "poor" not in told  # it knows the same and does worse


def test_the_best_of_each_other_knowledge_follows_from_the_same_audit(make, make_estimate):
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
    told = answer(verdicts)
    assert "weak · 0.9, the best of 5 adversaries, was right 90.0%" in told
    assert "auxiliary 80.0% of the time (77.9% to 82.0%), zero 75.0% of the time (72.9% to 77.0%)." in told
    assert "55.0%" not in told


def test_one_adversary_is_no_best_of_many(make, make_estimate):
    told = answer([make(label="alone", metrics=right(make_estimate, 0.61))])
    assert told == (
        "alone was right 61.0% of the time (58.9% to 63.0%); blind guessing is right half of the time."
    )


def test_nothing_is_answered_where_right_guesses_could_not_be_counted(make, make_estimate):
    assert answer([make(metrics={"accuracy": make_estimate(None)})]) == ""
    assert answer([make(metrics={})]) == ""


def test_of_several_targets_the_mean_is_told_and_decides_who_is_best(make, make_estimate):
    def metrics(pooled, mean):
        return {"accuracy": make_estimate(pooled), "accuracy_mean": make_estimate(mean, mean - 0.0201, 0.97)}

    even = make(n_targets=9, label="even", knowledge="zero", metrics=metrics(0.80, 0.81))
    uneven = make(n_targets=9, label="uneven", metrics=metrics(0.60, 0.95))
    assert answer([even, uneven]) == (
        "uneven, the best of 2 adversaries, was right 95.0% of the time on average over the targets "
        "(92.9% to 97.0%); blind guessing is right half of the time. It was picked by these rounds, and "
        "its interval is that of one adversary. The best with other knowledge in the same audit: zero 81.0% "
        "of the time (78.9% to 97.0%)."
    )


def test_whoever_sees_no_release_is_never_the_best_but_stands_beside_it(make, make_estimate):
    seeing = make(label="loss", knowledge="training_loss", metrics=right(make_estimate, 0.86))
    control = make(label="blind", knowledge="blind", metrics=right(make_estimate, 0.97))
    told = answer([control, seeing])
    assert told.startswith("loss was right 86.0% of the time")
    assert told.endswith("Without a look at the release one is right 97.0% of the time (94.9% to 99.0%).")
    assert answer([control]).startswith("blind was right 97.0%")
