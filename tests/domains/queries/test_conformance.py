"""Transcripts compared with the statement: correct oracles are rarely accused, defects are found."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.domains.queries.answer_table import gather_answers
from leakgauge.domains.queries.attacks import repeat, split_likelihood
from leakgauge.domains.queries.challenger import build
from leakgauge.domains.queries.conformance import compare_transcripts
from leakgauge.domains.queries.knowledge import build as know
from leakgauge.domains.queries.noise_conformance import CACHE_UNNOTICED, REPEATED_FOR_DATA, NoiseComparison
from leakgauge.domains.queries.remote.auditor_questions import n_pair_sessions, rounds_per_pair
from leakgauge.domains.queries.side_channels import side_channel_tests
from leakgauge.domains.queries.transcript import Outcome
from leakgauge.referee.conformance import decide_conformance
from night import others_at_night

LAPLACE = {"name": "laplace", "epsilon": 0.25}
ATTACKS = {"repeat": repeat, "split_likelihood": split_likelihood}
ACCOUNTANTS = {
    "sequential": {"budget": 2.5},
    "per_predicate": {"accountant": "per_predicate", "budget": 2.5},
    "per_row": {"accountant": "per_row", "budget": 2.5},
    "none": {"accountant": "none"},
    "no cache": {"accountant": "none", "cache": "none"},
}
MECHANISMS = {
    "laplace": LAPLACE,
    "geometric": {"name": "geometric", "epsilon": 0.25},
    "gaussian": {"name": "gaussian", "epsilon": 0.25, "delta": 1e-5},
    "rounded": {**LAPLACE, "round": True, "clamp": True},
}


@cache
def adversary(mechanism, accountant, queries, attack="split_likelihood"):
    challenger = build(
        data={"records": 60},
        challenger=ACCOUNTANTS[accountant],
        mechanism=MECHANISMS[mechanism],
        folder=Path(),
        seed=1,
    )
    knowledge = know("known", {}, challenger, 1)
    scorer = ATTACKS[attack].Attack(queries=queries).study(knowledge, np.random.default_rng(0))
    return challenger, Adversary(knowledge, scorer)


def transcripts(
    mechanism="laplace", accountant="sequential", *, rounds=200, block=50, queries=10, seed=0, **attack
):
    challenger, who = adversary(mechanism, accountant, queries, **attack)
    parts = []
    for index, first in enumerate(range(0, rounds, block)):
        played = play(challenger, {"": who}, seed, range(first, first + block), index)
        parts += played[""].transcripts
    return [dict(part) for part in parts]


def compared(parts, mechanism="laplace", accountant="sequential", **stated):
    return compare_transcripts(
        parts,
        challenger={**ACCOUNTANTS[accountant], **stated},
        mechanism=MECHANISMS[mechanism],
        folder=Path(),
    )


def with_noise(parts, change):
    """Change the noise of all answers; ``change`` gets residuals, members and the number of the block."""
    for number, part in enumerate(parts):
        true = part["truths"]
        part["answers"] = true + change(part["answers"] - true, part["members"], number)
    return parts


def p_values(found):
    return {test.name: test.p_value for test in found.tests}


# -- what is right


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_correct_oracle_is_accused_at_most_at_the_nominal_rate(mechanism, accountant):
    n, error, accused = 12, 0.05, 0
    for seed in range(n):
        found = compared(
            transcripts(mechanism, accountant, rounds=60, block=30, seed=seed), mechanism, accountant
        )
        decided = decide_conformance(found, error)
        accused += bool(decided.violations or decided.departures or found.dependent)
    assert accused <= binom.ppf(0.9999, n, error)


@pytest.mark.nightly
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_correct_oracle_is_accused_at_most_at_the_nominal_rate_in_many_audits(mechanism):
    n, error = 400, 0.05
    accused = [
        decide_conformance(compared(transcripts(mechanism, rounds=60, block=30, seed=seed), mechanism), error)
        for seed in range(n)
    ]
    assert sum(bool(one.violations or one.departures) for one in accused) <= binom.ppf(0.9999, n, error)


@pytest.mark.parametrize("attack", ["repeat", "split_likelihood"])
def test_own_oracle_is_never_certain(attack):
    found = compared(transcripts(attack=attack, rounds=100))
    assert (found.certain, found.departures, found.dependent, found.unanswered) == ((), (), None, None)


# -- noise


def test_a_fifth_too_little_noise_is_found_in_200_rounds():
    found = compared(with_noise(transcripts(), lambda noise, *_: 0.8 * noise))
    decided = decide_conformance(found, 0.001)
    assert p_values(found)["too_little_noise"] < 1e-12
    assert decided.certain
    assert "closer to the true values" in decided.violations[0]


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_fifth_too_little_whole_number_noise_is_found_in_99_of_100_audits(epsilon, monkeypatch):
    """At confidence 0.999; where answers may be repeated by chance, only first answers count."""
    name, n_audits, found = f"geometric {epsilon}", 200, 0
    monkeypatch.setitem(MECHANISMS, name, {"name": "geometric", "epsilon": epsilon})
    (made,) = transcripts(name, "none", rounds=200, block=200)
    for seed in range(n_audits):
        rng = np.random.default_rng([481521, seed])
        less = rng.geometric(-np.expm1(-epsilon / 0.8), size=(2, *made["truths"].shape))
        part = {**made, "answers": made["truths"] + less[0] - less[1]}
        found += bool(decide_conformance(compared([part], name, "none"), 0.0005).violations)
    assert found >= binom.ppf(0.001, n_audits, 0.99)


def test_no_noise_on_different_true_answers_is_a_violation_and_no_shared_noise():
    found = compared(with_other_truths(with_noise(transcripts(rounds=50), lambda noise, *_: 0.0 * noise)))
    assert (found.dependent, found.unanswered) == (None, None)
    assert decide_conformance(found, 0.001).violations


def test_more_noise_than_stated_is_no_violation():
    found = compared(with_noise(transcripts(), lambda noise, *_: 1.5 * noise))
    decided = decide_conformance(found, 0.001)
    assert decided.violations == ()
    assert "farther from the true values" in decided.departures[0]


def with_other_truths(parts):
    """Questions whose true answers differ by one from each to the next, with the noise that they had."""
    more = np.arange(parts[0]["answers"].shape[1]) % 3
    return [{**part, "answers": part["answers"] + more, "truths": part["truths"] + more} for part in parts]


@pytest.mark.parametrize("share", [0.1, 0.2])
@pytest.mark.parametrize("mechanism", ["laplace", "geometric"])
def test_some_answers_without_noise_are_named(mechanism, share):
    """They are equal to one another, but not because sessions share their noise."""
    rng = np.random.default_rng(2)
    parts = with_noise(transcripts(mechanism), lambda noise, *_: noise * (rng.random(noise.shape) >= share))
    found = compared(parts, mechanism)
    (said,) = found.certain
    assert "answers are exactly the true ones, without any noise" in said
    assert found.dependent is None


def test_sums_of_values_that_are_not_clipped_are_not_taken_for_an_ignored_absence():
    """The others in a question add too much in all sessions, not the target where it is absent."""
    parts = transcripts(rounds=400)
    parts = [{**part, "answers": part["answers"] + 1.0} for part in parts]
    said = decide_conformance(compared(parts), 0.05)
    assert said.departures
    assert not any("{absent}" in one for one in said.departures)


def test_groups_of_a_question_are_one_answer_also_where_they_share_noise():
    query = {"kind": "histogram", "group_by": "region", "groups": ["north", "east", "south", "west"]}
    challenger, mechanism = {"budget": 2.5, "query": query}, {"name": "laplace", "epsilon": 0.25}
    made = build(data={"records": 60}, challenger=challenger, mechanism=mechanism, folder=Path(), seed=1)
    knowledge = know("known", {}, made, 1)
    scorer = split_likelihood.Attack(queries=10).study(knowledge, np.random.default_rng(0))
    (part,) = play(made, {"": Adversary(knowledge, scorer)}, 1, range(50), 0)[""].transcripts
    shared = np.repeat((part["answers"] - part["truths"])[:, ::4], 4, axis=1)
    (said,) = compare_transcripts(
        [{**part, "answers": part["truths"] + shared}],
        challenger=challenger,
        mechanism=mechanism,
        folder=Path(),
    ).certain
    assert "got exactly the same noise" in said  # and 40 numbers are no 40 answers


def test_noise_that_questions_share_is_certain():
    shared = with_noise(transcripts(rounds=50), lambda noise, *_: noise[:, :1] + 0 * noise)
    found = compared(with_other_truths(shared))
    assert "Different questions of one session got exactly the same noise" in found.certain[0]


def with_pairs(parts, noise, n=20, seed=1):
    """Sessions of the auditor: a question about the target and another, then one about the other alone.

    ``noise`` gets whether the target is there and a generator, and returns the noise of both.
    """
    rng, members = np.random.default_rng(seed), np.arange(n) % 2 == 1
    truths = np.column_stack([1.0 + members, np.ones(n)])
    noises = np.array([noise(present, rng) for present in members.tolist()])
    pairs = {"pair_members": members, "pair_answers": truths + noises, "pair_truths": truths}
    return [{**parts[0], **pairs}, *parts[1:]]


def fresh(present, rng):
    return rng.laplace(scale=4.0, size=2)


def same_noise(present, rng):
    return np.full(2, rng.laplace(scale=4.0))


def same_answer(present, rng):
    return rng.laplace(scale=4.0) + np.array([-1.0 * present, 0.0])  # true answers differ by the target


def same_if_absent(present, rng):
    return fresh(present, rng) if present else same_noise(present, rng)


def same_now_and_then(present, rng):
    return same_answer(present, rng) if rng.random() < 0.5 else fresh(present, rng)


def repeats_in_session(rounds=50):
    """Rounds that get one answer to all questions, whose true answers are equal."""
    parts = with_noise(transcripts(rounds=rounds), lambda noise, *_: noise[:, :1] + 0 * noise)
    assert len(np.unique(parts[0]["truths"][0])) == 1  # each question is about the target and one other
    return parts


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (lambda parts: parts, "no session answered a question with and without the target"),
        (lambda parts: with_pairs(parts, same_now_and_then), "as often with the target as without it"),
        (lambda parts: with_pairs(parts, same_if_absent, n=6), "so few sessions"),
    ],
    ids=["no pairs", "repeated now and then", "too few pairs"],
)
def test_equal_answers_to_questions_with_equal_truths_are_no_violation_by_themselves(more, words):
    found = compared(more(repeats_in_session()))
    said = decide_conformance(found, 0.001)
    assert (found.certain, said.violations, found.unanswered) == ((), (), None)
    (departure,) = said.departures
    assert words in departure
    assert "whatever it is asked" in departure


def test_one_answer_to_all_questions_also_with_the_target_is_untestable():
    found = compared(with_pairs(repeats_in_session(), same_answer))
    assert "repeats one answer whatever it is asked" in found.unanswered
    assert decide_conformance(found, 0.001).violations == ()


def test_noise_used_again_in_equal_questions_is_certain_where_pairs_show_it():
    found = compared(with_pairs(repeats_in_session(), same_noise))
    assert "Different questions of one session got exactly the same noise (10 of 10" in found.certain[0]


@pytest.mark.parametrize("parts", [lambda: transcripts(rounds=50), repeats_in_session], ids=["fresh", "same"])
def test_answers_repeated_only_without_the_target_are_a_violation(parts):
    """A cache by the selected records, which attacks do not see, or by the true answer."""
    said = decide_conformance(compared(with_pairs(parts(), same_if_absent)), 0.001)
    assert any("tells who is in the table" in one for one in said.violations)
    assert [row["name"] for row in said.rows if row["reveals"] and row["rejected"]] == ["repeated_for_data"]


def test_noise_that_pairs_show_to_be_used_again_is_no_more_improbable_than_the_pairs():
    """All sessions repeat an answer; that only those without the target do is one chance in 2^20 at least."""
    parts = with_pairs(repeats_in_session(), same_if_absent)
    (test,) = (one for one in compared(parts).tests if one.name == "reused_noise")
    assert test.violates
    assert 2.0**-20 < test.p_value <= 1e-4


WHOLE_NOISE = {
    "geometric 0.5": {"name": "geometric", "epsilon": 0.5},
    "geometric 2": {"name": "geometric", "epsilon": 2.0},
    "discrete gaussian": {"name": "discrete_gaussian", "sigma": 1.0, "delta": 1e-5},
}


@pytest.mark.parametrize("mechanism", others_at_night(["laplace", "geometric 2"], "geometric 2"))
def test_error_of_a_comparison_of_pairs_over_all_numbers_of_equal_answers(mechanism, monkeypatch):
    """Services that repeat some share of answers, whatever they are asked: by the binomial distribution."""
    monkeypatch.setitem(MECHANISMS, "geometric 2", WHOLE_NOISE["geometric 2"])
    parts, n = transcripts(mechanism, "none", rounds=20, block=20), 12
    parts[0]["answers"][0, :2] = -50.0, 50.0  # a range that leaves out nothing
    rules = adversary(mechanism, "none", 10)[0].rules
    whole = np.arange(-60, 61)
    chances = np.tanh(1.0) * np.exp(-2.0 * np.abs(whole)) if mechanism != "laplace" else np.zeros(2)
    by_chance = float(chances @ chances), float(chances[1:] @ chances[:-1])
    p_values = np.empty((n + 1, n + 1))
    table = gather_answers(parts)
    members = np.repeat([False, True], n)
    for absent, present in np.ndindex(p_values.shape):
        gap = np.ones(2 * n)
        gap[:absent], gap[n : n + present] = 0.0, 0.0
        truths = np.column_stack([1.0 + members, np.ones(2 * n)])
        answers = np.column_stack([1.0 + gap, np.ones(2 * n)])
        pairs = replace(table.pairs, members=members, truths=truths, answers=answers)
        p_values[absent, present] = NoiseComparison(replace(table, pairs=pairs), rules)._p_unlike
    numbers = np.arange(n + 1)
    for repeated in np.linspace(0.0, 1.0, 21):
        absent, present = (binom.pmf(numbers, n, repeated + (1 - repeated) * one) for one in by_chance)
        for error in (0.05, 0.01, 0.001, 1e-4):
            assert np.outer(absent, present)[p_values <= error].sum() <= error
    assert p_values[n, 0] < 0.01  # and it can reject


CACHED = [  # noise, rounds, and whether they are enough, as the documentation says
    ({"name": "geometric", "epsilon": 2.0}, 200, True),
    ({"name": "geometric", "epsilon": 0.5}, 200, True),
    ({"name": "geometric", "epsilon": 1.0}, 200, True),
    ({"name": "discrete_gaussian", "sigma": 1.0, "delta": 1e-5}, 200, True),
    ({"name": "geometric", "epsilon": 4.0}, 1_000, True),
    ({"name": "geometric", "epsilon": 4.0}, 500, False),
]


@pytest.mark.parametrize(
    ("mechanism", "rounds", "enough"),
    [CACHED[0], *(pytest.param(*one, marks=pytest.mark.nightly) for one in CACHED[1:])],
)
def test_a_cache_by_true_answers_is_found_under_little_whole_number_noise(
    mechanism, rounds, enough, monkeypatch
):
    """Such noise is often equal by chance, so the auditor asks more pairs of questions."""
    name = f"{mechanism} {rounds}"
    monkeypatch.setitem(MECHANISMS, name, mechanism)
    made = transcripts(name, "none", rounds=rounds, block=rounds, queries=6)
    rules, found, n_audits = adversary(name, "none", 6)[0].rules, 0, 20
    n = 2 * sum(n_pair_sessions(50, rounds_per_pair(rules), seed) for seed in range(rounds // 50))

    def cached(present, rng):
        return rules.noise.sample(np.zeros(2), rng)[[0, 1 if present else 0]]

    for seed in range(n_audits):
        rng = np.random.default_rng([481520, seed])
        parts = [
            {**part, "answers": rules.noise.sample(part["truths"][:, :1], rng) + 0 * part["truths"]}
            for part in made
        ]
        said = decide_conformance(compared(with_pairs(parts, cached, n, seed), name, "none"), 0.0005)
        found += any("tells who is in the table" in one for one in said.violations)
    assert (found >= binom.ppf(0.001, n_audits, 0.9)) == enough


@pytest.mark.parametrize(
    ("noise", "rounds", "enough"),
    [
        *CACHED,
        ({"name": "laplace", "epsilon": 1.0}, 200, True),
        ({"name": "laplace", "epsilon": 1.0}, 50, False),
    ],
)
def test_too_few_sessions_to_notice_a_cache_by_true_answers_are_named(noise, rounds, enough, monkeypatch):
    """A sound service, of which nothing is found: by the same noise and rounds as above."""
    name = f"{noise} {rounds}"
    monkeypatch.setitem(MECHANISMS, name, noise)
    parts = transcripts(name, "none", rounds=rounds, block=rounds, queries=2)
    rules = adversary(name, "none", 2)[0].rules
    n = 2 * sum(n_pair_sessions(50, rounds_per_pair(rules), seed) for seed in range(rounds // 50))

    def sound(present, rng):
        return rules.noise.sample(np.zeros(2), rng)

    said = decide_conformance(compared(with_pairs(parts, sound, n, 1), name, "none"), 0.0005)
    unnoticed = {row["unnoticed"] for row in said.rows if row["name"] == REPEATED_FOR_DATA}
    assert unnoticed == ({""} if enough else {CACHE_UNNOTICED})
    assert said.violations == ()


def test_repeated_answers_cost_nothing_and_are_tested_once():
    """Thirteen equal answers are no thirteen answers, nor is their noise thirteen times too small."""
    parts = transcripts(accountant="none", queries=13, rounds=20, block=20)
    parts = with_noise(parts, lambda noise, *_: 0.2 * noise[:, :1] + 0 * noise)
    found = compared(parts)
    assert found.certain == ()
    assert p_values(found)["too_little_noise"] > 1e-6  # 20 values, not 260


@pytest.mark.parametrize("mechanism", others_at_night(MECHANISMS, "rounded"))
def test_fresh_pairs_are_accused_at_most_at_the_nominal_rate(mechanism):
    noise = adversary(mechanism, "sequential", 10)[0].rules.noise
    p_value = []

    def stated(present, rng):
        return noise.sample(np.zeros(2), rng)

    for seed in range(40):
        parts = with_pairs(transcripts(mechanism, rounds=20, block=20), stated, seed=seed)
        if mechanism == "rounded":
            parts[0]["pair_answers"] = np.maximum(np.rint(parts[0]["pair_answers"]), 0.0)
        found = compared(parts, mechanism)
        p_value.append(p_values(found).get("repeated_for_data", 1.0))
        assert (found.certain, found.unanswered) == ((), None)
    assert sum(p <= 0.05 for p in p_value) <= binom.ppf(0.9999, 40, 0.05)


def test_a_session_that_repeats_its_first_answer_is_no_violation():
    parts = with_other_truths(transcripts(rounds=50))
    found = compared([{**part, "answers": part["answers"][:, :1] + 0 * part["answers"]} for part in parts])
    assert "repeats one answer whatever it is asked" in found.unanswered
    assert found.certain == found.departures == ()


@pytest.mark.parametrize("n_pairs", [0, 30])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
def test_a_session_that_repeats_its_first_answer_has_no_exact_answers_by_chance(
    epsilon, n_pairs, monkeypatch
):
    """Whole-number noise adds nothing to the first answer of many sessions, which give it 30 times."""
    monkeypatch.setitem(MECHANISMS, f"geometric {epsilon}", {"name": "geometric", "epsilon": epsilon})
    made = transcripts(f"geometric {epsilon}", "none", rounds=120, block=30, queries=30)
    noise = adversary(f"geometric {epsilon}", "none", 30)[0].rules.noise

    def first_answers(truths, rng):
        return noise.sample(truths[:, :1], rng) + 0 * truths

    for seed in range(48_000, 48_020):
        rng = np.random.default_rng(seed)
        parts = [{**part, "answers": first_answers(part["truths"], rng)} for part in made]
        for part in parts:
            members = np.arange(n_pairs) % 2 == 1
            truths = np.column_stack([20.0 + members, np.full(n_pairs, 20.0)])
            answers = first_answers(truths, rng)
            part.update({"pair_members": members, "pair_truths": truths, "pair_answers": answers})
        found = compared(parts, f"geometric {epsilon}", "none")
        assert (found.certain, decide_conformance(found, 0.001).violations) == ((), ())
        if n_pairs:
            assert "repeats one answer whatever it is asked" in found.unanswered


REPEATING_AUDITS = [
    (4.0, 60, 6, 12),
    *(
        pytest.param(epsilon, rounds, queries, 60, marks=pytest.mark.nightly)
        for epsilon in (1.0, 2.0, 4.0)
        for rounds, queries in ((60, 6), (200, 10))
    ),
]


@pytest.mark.parametrize(("epsilon", "rounds", "queries", "n_audits"), REPEATING_AUDITS)
def test_few_sessions_that_repeat_their_first_answer_are_not_accused(
    epsilon, rounds, queries, n_audits, monkeypatch
):
    """So little whole-number noise that all answers may be equal anyway: each session counts once."""
    name = f"geometric {epsilon}"
    monkeypatch.setitem(MECHANISMS, name, {"name": "geometric", "epsilon": epsilon})
    made = transcripts(name, "none", rounds=rounds, block=rounds, queries=queries)
    noise, accused = adversary(name, "none", queries)[0].rules.noise, 0
    for seed in range(n_audits):
        rng = np.random.default_rng([481516, seed])
        parts = [
            {**part, "answers": noise.sample(part["truths"][:, :1], rng) + 0 * part["truths"]}
            for part in made
        ]
        accused += bool(decide_conformance(compared(parts, name, "none"), 0.001).violations)
    assert accused <= binom.ppf(0.9999, n_audits, 0.001)


def repeated_now_and_then(answers, how, share, rng):
    """Sessions that give an answer again, whatever they are asked: all of them the first, or now and then."""
    again = rng.random(answers.shape) < share
    if how == "whole sessions":
        again[:] = again[:, :1]
    again[:, 0] = False
    return np.where(again, answers[:, :1], answers)


@pytest.mark.parametrize("differ", [False, True], ids=["equal truths", "different truths"])
@pytest.mark.parametrize("how", ["whole sessions", "single answers"])
@pytest.mark.parametrize("mechanism", WHOLE_NOISE)
@pytest.mark.parametrize("n_audits", [4, pytest.param(60, marks=pytest.mark.nightly)])
def test_whole_number_noise_that_is_repeated_now_and_then_is_no_violation(
    mechanism, how, differ, n_audits, monkeypatch
):
    """Equal answers are no equal noise: a repeated answer reveals no more than it did."""
    monkeypatch.setitem(MECHANISMS, mechanism, WHOLE_NOISE[mechanism])
    made = transcripts(mechanism, "none", rounds=60, block=60, queries=6)
    made = with_other_truths(made) if differ else made
    noise, accused = adversary(mechanism, "none", 6)[0].rules.noise, 0
    members = np.arange(20) % 2 == 1
    pairs = np.column_stack([20.0 + members, np.full(20, 20.0)])
    for seed in range(n_audits):
        rng = np.random.default_rng([481517, seed])
        (part,) = ({**part, "pair_members": members, "pair_truths": pairs} for part in made)
        part["answers"], part["pair_answers"] = (
            repeated_now_and_then(noise.sample(truths, rng), how, 0.5, rng)
            for truths in (part["truths"], pairs)
        )
        accused += bool(decide_conformance(compared([part], mechanism, "none"), 0.001).violations)
    assert accused <= binom.ppf(0.999, n_audits, 0.001)


@pytest.mark.parametrize("mechanism", WHOLE_NOISE)
def test_whole_number_noise_that_is_used_again_now_and_then_is_found(mechanism, monkeypatch):
    """In half of the sessions, in questions with different true answers: their difference has no noise."""
    monkeypatch.setitem(MECHANISMS, mechanism, WHOLE_NOISE[mechanism])
    rng = np.random.default_rng(481518)
    shared = with_noise(
        transcripts(mechanism, "none", rounds=200, block=200),
        lambda noise, *_: np.where(rng.random((len(noise), 1)) < 0.5, noise[:, :1], noise),
    )
    said = decide_conformance(compared(with_other_truths(shared), mechanism, "none"), 0.001)
    assert said.violations


def test_one_exact_answer_in_ten_is_found_under_whole_number_noise(monkeypatch):
    """Of 12,000 answers at epsilon 2; at confidence 0.999."""
    name = "geometric 2"
    monkeypatch.setitem(MECHANISMS, name, {"name": "geometric", "epsilon": 2.0})
    rng = np.random.default_rng(481519)
    parts = with_noise(
        transcripts(name, "none", rounds=400, block=400, queries=30),
        lambda noise, *_: np.where(rng.random(noise.shape) < 0.1, 0.0, noise),
    )
    said = decide_conformance(compared(parts, name, "none"), 0.001)
    assert "too_many_exact" in [row["name"] for row in said.rows if row["rejected"]]
    assert said.violations


@pytest.mark.parametrize(("world", "words"), [(1, "as if the target was in the"), (0, "was not in the")])
def test_a_service_that_ignores_who_is_absent_is_named_as_the_likely_cause(world, words):
    parts = transcripts(rounds=400)
    fixed = [{**part, "answers": part["answers"] + (world - part["members"])} for part in parts]
    said = decide_conformance(compared(fixed), 0.05)
    assert said.violations == ()
    assert any(words in one and "{absent}" in one for one in said.departures)


def test_absolute_values_reveal_no_more_and_are_named():
    parts = [{**part, "answers": np.abs(part["answers"])} for part in transcripts(rounds=400)]
    found = compared(parts)
    said = decide_conformance(found, 0.001)
    assert (found.certain, said.violations) == ((), ())
    assert any("as if absolute values were given" in one for one in said.departures)


@pytest.mark.parametrize("block", [1, 5, 50])
def test_noise_that_sessions_share_is_certain_with_any_block(block):
    once = transcripts(rounds=1, block=1)[0]
    noise = (once["answers"] - once["truths"])[0]
    found = compared(with_noise(transcripts(rounds=50, block=block), lambda old, *_: noise + 0 * old))
    assert "same noise in different sessions, with the target and without it" in found.certain[0]
    assert "sessions share their noise" in found.dependent
    assert found.tests == ()


@pytest.mark.parametrize("block", [1, 50])
def test_sessions_with_the_same_table_may_share_noise_but_are_not_independent(block):
    once = transcripts(rounds=2, block=2)[0]
    noise = once["answers"] - once["truths"]

    def of_table(old, members, _):
        return np.where(members, noise[0], noise[1]) + 0 * old

    found = compared(with_noise(transcripts(rounds=50, block=block), of_table))
    assert found.certain == ()
    assert "sessions share their noise" in found.dependent


def test_equal_whole_noise_is_no_evidence_by_itself():
    found = compared(transcripts("geometric", rounds=100), "geometric")
    assert (found.certain, found.dependent) == ((), None)


# -- budget, cache and refusals


def test_answers_beyond_the_budget_are_certain():
    parts = transcripts(accountant="none", queries=13, rounds=20, block=20)
    found = compared(parts)
    (said,) = found.certain
    assert said == (
        "In a single session 13 different answers about one record were given. However tightly they are "
        "composed, they cost ε = 3.25 at delta = 0, and the budget is 2.5."
    )
    assert compared(parts, accountant="none").certain == ()  # nothing is promised
    assert "the stated promise is 3." in compared(parts, accountant="none", promise=3.0).certain[0]
    assert compared(parts, accountant="none", promise=3.25).certain == ()


def test_gaussian_answers_beyond_the_summed_budget_are_right():
    """By zCDP or tighter 30 answers at epsilon 0.25 cost far less than 7.5."""
    parts = transcripts("gaussian", "none", queries=30, rounds=20, block=20)
    assert compared(parts, "gaussian", "none", promise=2.5).certain == ()
    assert compared(parts, "gaussian", "none", promise=1.0).certain != ()
    assert compared(parts, "gaussian").certain == ()  # 2.5 in all, and 10 answers would be summed


def test_answers_about_nobody_in_particular_are_only_not_as_stated():
    parts = transcripts(accountant="none", queries=13, rounds=20, block=20)
    for part in parts:
        part["fresh_about_targets"] = np.zeros_like(part["fresh_about_targets"])
    found = compared(parts)
    assert found.certain == ()
    assert "The stated accountant charges every answer." in found.departures[0]


def test_repeated_questions_with_new_noise_are_not_as_stated():
    parts = transcripts(accountant="no cache", attack="repeat", rounds=20, block=20)
    for part in parts:
        part["repeats"][:, 1:] = part["redrawn"][:, 1:] = True
    found = compared(parts)
    assert "different answer 180 of 180 times" in found.departures[0]


def test_refusals_that_the_budget_does_not_explain_are_not_as_stated():
    parts = transcripts(rounds=60)
    for part in parts:
        refused = ~part["members"][:, [0] * 10]
        part["answers"][refused], part["outcomes"][refused] = np.nan, Outcome.REFUSED
        part["independent"] &= ~refused
    found = compared(parts)
    decided = decide_conformance(found, 0.001)
    assert any("although the stated budget pays for them" in text for text in decided.departures)
    assert any(text.startswith("Refusals tell whether the target") for text in decided.departures)
    assert decided.violations == ()  # so few rounds do not tell 100 % from the 92 % that are allowed
    tested = {"low_order_bits", "answer_sizes"} & set(p_values(found))
    assert not tested  # answers of one world only are no fair comparison


def test_errors_only_with_the_target_are_beyond_the_promise_in_enough_rounds():
    parts = transcripts(rounds=400, block=100)
    for part in parts:
        part["faults"] = np.zeros(part["answers"].shape, dtype=np.uint8)
        part["faults"][:, 0] = part["members"][:, 0]
        part["seconds"] = np.full(part["answers"].shape, 0.01, dtype=np.float32)
    decided = decide_conformance(compared(parts), 0.001)
    assert "Errors of the service tell" in decided.violations[0]
    assert "more often than the promise allows" in decided.violations[0]


def test_times_that_tell_the_target_are_reported():
    parts, rng = transcripts(rounds=200), np.random.default_rng(1)
    for part in parts:
        part["faults"] = np.zeros(part["answers"].shape, dtype=np.uint8)
        slow = np.where(part["members"], 0.05, 0.01) + rng.exponential(0.005, part["answers"].shape)
        part["seconds"] = slow.astype(np.float32)
    decided = decide_conformance(compared(parts), 0.001)
    assert any(text.startswith("Response times tell") for text in (*decided.violations, *decided.departures))
    rules = adversary("laplace", "sequential", 10)[0].rules
    for two_copies in (False, True):  # one copy may be on a faster machine
        tests = side_channel_tests(gather_answers(parts), rules, None, two_copies=two_copies)
        assert any(test.name.startswith("response_times") for test in tests) is not two_copies


@pytest.mark.parametrize("failed", ["all questions", "a slow question", "the first try"])
def test_a_missing_time_is_an_error_and_no_time(failed):
    """Questions that fail only with the target have no time, or only that of a later try."""
    parts, rng = transcripts(rounds=400, block=100), np.random.default_rng(2)
    for part in parts:
        part["faults"] = np.zeros(part["answers"].shape, dtype=np.uint8)
        part["seconds"] = rng.exponential(0.01, part["answers"].shape).astype(np.float32)
        part["seconds"][:, 0] += 1.0
        fails = part["members"] & (rng.random((len(part["members"]), 1)) < 0.9)
        fails = fails & (np.arange(10) < (10 if failed == "all questions" else 1))
        part["faults"][fails] = 1
        if failed == "the first try":
            part["seconds"][fails] = 0.001
            continue
        part["answers"][fails], part["seconds"][fails] = np.nan, np.nan
        part["outcomes"][fails], part["independent"][fails] = Outcome.ERROR, False
    decided = decide_conformance(compared(parts), 0.001)
    said = (*decided.violations, *decided.departures)
    assert any(text.startswith("Errors of the service tell") for text in said)
    assert not any(text.startswith("Response times tell") for text in said)
    assert any(row["name"] == "response_times" for row in decided.rows)  # they were compared


@pytest.mark.parametrize("failing", [0.02, 0.4])
def test_times_that_tell_the_target_are_reported_beside_errors(failing):
    parts, rng = transcripts(rounds=300, block=100), np.random.default_rng(3)
    for part in parts:
        fails = rng.random(part["answers"].shape) < failing * (np.arange(10) < 4)
        slow = np.where(part["members"], 0.05, 0.01) + rng.exponential(0.005, part["answers"].shape)
        part["faults"] = fails.astype(np.uint8)
        part["seconds"] = np.where(fails, np.nan, slow).astype(np.float32)
        part["answers"][fails], part["outcomes"][fails] = np.nan, Outcome.ERROR
        part["independent"] &= ~fails
    decided = decide_conformance(compared(parts), 0.001)
    assert any(text.startswith("Response times tell") for text in (*decided.violations, *decided.departures))


def test_nothing_answered_says_what_to_do():
    parts = transcripts(rounds=20, block=20)
    for part in parts:
        part["answers"][:], part["outcomes"][:] = np.nan, Outcome.REFUSED
        part["independent"][:] = False
    found = compared(parts)
    assert found.unanswered.startswith("nothing was answered in any session: all 200 questions were refused;")
    assert found.certain == ()


def two_digits(answers):
    exponents = np.floor(np.log10(np.maximum(np.abs(answers), 1e-300))) - 1
    return np.round(answers / 10.0**exponents) * 10.0**exponents


@pytest.mark.parametrize(
    "publish",
    [
        lambda answers: np.maximum(answers, 0),
        lambda answers: np.maximum(np.rint(answers), 0),
        lambda answers: 5 * np.rint(answers / 5),
        lambda answers: np.rint(4 * answers) / 4,
        lambda answers: np.trunc(answers) + 0.5 * np.sign(np.trunc(answers)),
        two_digits,
    ],
    ids=["clamped", "rounded and clamped", "to fives", "to quarters", "to halves", "to two digits"],
)
def test_rounding_that_is_not_stated_is_no_reused_noise(publish):
    """What is done to an answer after its noise was added shows nothing about the noise itself."""
    parts = transcripts()
    for part in parts:
        part["answers"] = publish(part["answers"])
    found = compared(parts)
    decided = decide_conformance(found, 0.0005)
    assert found.dependent is None
    assert decided.violations == ()


def test_answers_on_the_fine_grid_that_is_advised_are_as_stated():
    """Floating-point noise whose last bits reveal the target, rounded after it was added."""
    parts, rng = transcripts(rounds=1_000, block=250), np.random.default_rng(4)
    coarse = [(rng.random(part["answers"].shape) < 0.9) == part["members"] for part in parts]
    for part, tells in zip(parts, coarse):
        part["answers"] = np.where(tells, np.round(part["answers"] * 2**40) / 2**40, part["answers"] + 2**-45)
    assert any("last bits" in text for text in decide_conformance(compared(parts), 0.001).violations)
    for part in parts:
        part["answers"] = np.round(part["answers"] * 1024) / 1024
    decided = decide_conformance(compared(parts), 0.05)
    assert (decided.violations, decided.departures) == ((), ())


def test_fractions_are_compared_on_the_grid_of_the_answers():
    """A true value with many bits hides on which grid the noise was drawn."""
    challenger = {"budget": 30.0, "query": {"kind": "sum", "column": "income", "bound": 30.0}}
    mechanism = {"name": "laplace", "epsilon": 0.5}
    made = build(data={"records": 60}, challenger=challenger, mechanism=mechanism, folder=Path(), seed=1)
    knowledge = know("known", {}, made, 1)
    scorer = split_likelihood.Attack(queries=30).study(knowledge, np.random.default_rng(0))
    p_values = []
    for seed in range(8):
        played = play(made, {"": Adversary(knowledge, scorer)}, seed, range(400), 0)
        found = compare_transcripts(
            played[""].transcripts, challenger=challenger, mechanism=mechanism, folder=Path()
        )
        p_values += [test.p_value for test in found.tests if test.name == "reused_noise"]
    assert len(p_values) == 8
    assert min(p_values) > 1e-3  # below 1e-4 in a quarter of audits where residuals were added up again


def test_one_number_for_every_question_is_no_answer():
    parts = transcripts()
    for part in parts:
        part["answers"] = np.where(np.isfinite(part["answers"]), 5.0, np.nan)
    found = compared(parts)
    assert "all 2,000 answers are the same number" in found.unanswered
    assert not found.certain
    assert not any(test.violates and test.p_value < 1e-3 for test in found.tests)


# -- questions beyond a promise


@pytest.mark.parametrize("attack", ["repeat", "split_likelihood"])
def test_more_questions_than_a_service_without_sessions_promises_are_refused_at_the_start(attack):
    _, who = adversary("laplace", "no cache", 10, attack)
    promised = replace(who.knowledge, unrefused=2.5)
    ATTACKS[attack].Attack(queries=10).study(promised, np.random.default_rng(0))
    with pytest.raises(BadInput, match=r"cost epsilon = 2.75, and challenger.promise is 2.5.*lower queries"):
        ATTACKS[attack].Attack(queries=11).study(promised, np.random.default_rng(0))
