"""Whole audits of trainings: the game, the transcript and the positive control make one verdict."""

import re
from pathlib import Path
from runpy import run_path

import pytest

import leakgauge
from domains.models.dp_training.watched_trainings import CLAIM, numpy_loop
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.challenger import build_for_function
from leakgauge.domains.models.dp_training.plan_tables import read_dp_training_table
from page_numbers import page_words

MESSAGES = run_path(str(Path(__file__).parents[4] / "examples" / "dp-training" / "messages.py"))
CANARIES = {"epsilon": 4.0, "sample_rate": 0.5, "steps": 40, "canaries": 600}
NIGHT = pytest.mark.nightly


def audited(train, **options):
    return leakgauge.audit_training(train, **(CLAIM | {"confidence": 0.999} | options))


@pytest.mark.parametrize("n_audits", [5, pytest.param(60, marks=NIGHT)])
def test_honest_loop_is_accused_at_most_once_in_60_audits(n_audits):
    found = [audited(numpy_loop(), seed=1_000 + seed) for seed in range(n_audits)]
    assert sum(one.finding == "violated" or one.about is not None for one in found) <= 1
    assert {one.instrument["control"]["status"] for one in found} == {"passed"}


def test_third_of_the_noise_is_a_certain_violation_about_a_step():
    found = audited(numpy_loop(1 / 3))
    assert (found.finding, found.certain, found.about) == ("violated", True, None)
    assert found.promised["unit"] == "step"
    assert found.promised["nominal"] == {"epsilon": 4.0, "unit": "record"}
    assert "the step adds less noise than accounted" in found.evidence[1]


@pytest.mark.parametrize(
    ("options", "steps", "understated"),
    [({}, 100, True), ({}, 1, False), ({"coin": "training"}, 100, False), ({"canaries": 5}, 100, False)],
)
def test_guesses_about_one_step_of_many_clear_nobody(options, steps, understated):
    table = {"dp_training": "own:train", "claim": CLAIM | {"steps": steps}, **options}
    train = (lambda canaries: canaries) if "canaries" in options else numpy_loop()
    made = build_for_function(train, *read_dp_training_table(table), "")
    said = made.understated_by([])
    assert ("about one step of 100" in said.get("strong", "")) == understated
    assert bool(said) == understated


def test_one_coin_for_each_training_is_judged_by_trainings():
    claim = {"epsilon": 4.0, "sample_rate": 0.2, "steps": 20}
    found = leakgauge.audit_training(numpy_loop(0.3, 20, 1.35), coin="training", rounds=40, **claim)
    assert found.finding == "violated"
    assert found.rounds == 40
    assert found.promised["unit"] == "training"  # a canary is in every batch, or in none
    assert "step_rates" in [row["name"] for row in found.conformance]


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(10), marks=NIGHT)])
def test_quarter_of_the_noise_is_found_by_600_black_box_canaries_of_one_training(seeds):
    found = [leakgauge.audit_training(MESSAGES["train_with_a_bug"], seed=s, **CANARIES) for s in seeds]
    assert sum(one.finding == "violated" for one in found) >= 0.8 * len(found)
    if len(found) == 10:
        counts = re.search(r"was found in (\d+) of 10 trainings", page_words("dp-training.md"))
        assert int(counts[1]) == sum(one.finding == "violated" for one in found)
    assert "curve" in {one.about for one in found}
    honest = [leakgauge.audit_training(MESSAGES["train"], seed=s, **CANARIES) for s in seeds]
    assert all(one.finding == "not violated" for one in honest)
    assert {one.instrument["control"]["status"] for one in found + honest} == {"passed"}


def test_canaries_that_are_never_used_are_untestable():
    def train(canaries, watch, rng):
        return rng.normal(size=len(canaries))

    assert leakgauge.audit_training(train, **CANARIES).finding == "untestable"


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (lambda canaries: [1.0], {"canaries": 5}, "must return 5 finite losses"),
        (lambda canaries: None, {"canaries": 5}, "must return 5 finite losses"),
        (lambda: None, {"canaries": 5}, "with the parameter canaries"),
        (lambda canaries: None, {"canaries": 5, "coin": "training"}, "leave out coin"),
        (lambda canaries: None, {"canaries": 0}, "canaries must be in"),
        (7, {}, "must be a function"),
        (lambda watch: None, {"rounds": 0}, "rounds must be in"),
        (lambda watch: None, {"coin": "week"}, "coin"),
    ],
)
def test_what_cannot_be_audited_is_refused(train, options, message):
    with pytest.raises(BadInput, match=message):
        audited(train, **options)
