"""Linear reconstruction: recovered shares agree with theory, for both methods, noises and refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from domains.queries.fake_oracle import FakeSeen, knowledge, played
from domains.queries.small_table import game, known
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.domains.queries.attacks.reconstruction import (
    Attack,
    LeastSquaresScore,
    linear_program_scores,
    noise_deviation,
)
from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.target_questions import SelectBy
from leakgauge.mechanisms import discrete_gaussian, gaussian, geometric, laplace, logistic
from positive_control_play import played as played_control

METHODS = ("least_squares", "linear_program")


def recovered(attack, about, n_rounds, seed=1):
    """The share of bits on the right side, its standard error over rounds, and what theory says."""
    members, scores, reading = played(attack, about, n_rounds, seed)
    by_round = ((scores >= reading.threshold) == members).mean(axis=1)
    return by_round.mean(), by_round.std() / np.sqrt(n_rounds), reading.studied


def bits(n_targets):
    return (1.0,) * n_targets


@pytest.mark.parametrize("method", METHODS)
def test_all_bits_are_recovered_under_small_noise(method):
    about = knowledge(shifts=bits(15), noise=laplace.Mechanism(scale=0.05))
    share, _, studied = recovered(Attack(queries=60, method=method), about, 40)
    assert share == 1.0
    assert studied["least_squares_expected"] > 0.9999


@pytest.mark.parametrize("sigma", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("queries", [12, 40, 200])
def test_least_squares_recovers_what_theory_says(sigma, queries):
    about = knowledge(shifts=bits(12), noise=gaussian.Mechanism(sigma=sigma, delta=1e-5))
    share, error, studied = recovered(Attack(queries=queries), about, 4_000)
    assert abs(share - studied["least_squares_expected"]) < 4 * error + 0.002
    assert share - 4 * error <= studied["recovery_allowed"]


@pytest.mark.parametrize("queries", [50, 400])
def test_linear_program_beats_least_squares_under_laplace_noise_within_what_is_allowed(queries):
    about = knowledge(shifts=bits(12), noise=laplace.Mechanism(scale=np.sqrt(queries) / 5))
    squares, error, studied = recovered(Attack(queries=queries), about, 150)
    program, other, _ = recovered(Attack(queries=queries, method="linear_program"), about, 150)
    assert program > squares - 2 * (error + other)
    assert 0.6 < program < studied["recovery_allowed"] + 4 * other


def test_linear_program_minimises_absolute_residuals():
    """Against a general optimizer from many starting points."""
    rng = np.random.default_rng(3)
    design = (rng.random((12, 3)) < 0.5).astype(float)
    answers = design @ np.array([1.0, 0.0, 1.0]) + rng.laplace(0, 0.8, (4, 12))
    found = linear_program_scores(design, answers) + 0.5
    assert ((found >= 0) & (found <= 1)).all()
    for row, solution in zip(answers, found):

        def cost(x, row=row):
            return np.abs(design @ x - row).sum()

        starts = rng.random((20, 3))
        others = [minimize(cost, x, method="Nelder-Mead", bounds=[(0, 1)] * 3).fun for x in starts]
        assert cost(solution) <= min(others) + 1e-6


def test_least_squares_scores_are_log_odds_of_the_closed_form():
    rng = np.random.default_rng(4)
    design = (rng.random((30, 4)) < 0.5) * np.array([1.0, 2.0, -1.0, 0.3])
    answers = rng.normal(0, 3, (5, 30))
    ridge = np.linalg.solve(design.T @ design + 4 * 1.7**2 * np.eye(4), design.T)
    kept = ridge @ design
    variances = 1.7**2 * (ridge**2).sum(axis=1) + ((kept - np.diag(np.diag(kept))) ** 2).sum(axis=1) / 4
    expected = (answers - design.sum(axis=1) / 2) @ ridge.T * np.diag(kept) / variances
    np.testing.assert_allclose(LeastSquaresScore(1.7)(design, answers), expected, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_target_without_answer_has_score_zero(method):
    solve = LeastSquaresScore(1.0) if method == "least_squares" else linear_program_scores
    scores = solve(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.9, 1.2], [0.1, -0.2]]))
    assert (scores[:, 1] == 0).all()
    assert scores[0, 0] > 0 > scores[1, 0]


@pytest.mark.parametrize(
    "noise",
    [
        laplace.Mechanism(scale=1.3),
        gaussian.Mechanism(sigma=1.3, delta=1e-5),
        logistic.Mechanism(scale=1.3),
        geometric.Mechanism(scale=1.3),
        discrete_gaussian.Mechanism(sigma=1.3, delta=1e-5),
    ],
    ids=lambda noise: type(noise).__module__.rpartition(".")[2],
)
def test_deviation_is_that_of_drawn_noise(noise):
    drawn = noise.draw((200_000,), np.random.default_rng(5))
    assert noise_deviation(knowledge(noise=noise)) == pytest.approx(drawn.std(), rel=0.015)


def test_questions_differ_and_each_target_is_in_half_of_them():
    about = knowledge(shifts=bits(10), n_known=30)
    seen = FakeSeen(about, np.ones((2, 10), dtype=bool))
    Attack(queries=600).study(about, np.random.default_rng(1)).score(seen, np.random.default_rng(1))
    asked = [frozenset(query.ids) for query in seen.oracles[0].asked]
    assert len(set(asked)) == len(asked) == 600
    for target in about.targets:
        assert abs(sum(target in ids for ids in asked) - 300) < 5 * np.sqrt(150)


def test_all_different_questions_are_asked_where_there_are_fewer():
    about = knowledge(shifts=bits(2), n_known=5)
    scorer = Attack(queries=100).study(about, np.random.default_rng(1))
    assert len(scorer.score.questions.queries) == 5 * 3
    assert scorer.reading.event.startswith("15 questions about random sets of the 2 targets")


def test_sum_is_recovered_by_the_value_of_each_target():
    query = Query(kind="sum", column="income", bound=10.0)
    values = (10.0, -10.0, 5.0, 1.0)
    about = knowledge(shifts=values, query=query, noise=gaussian.Mechanism(sigma=10.0, delta=1e-5))
    members, scores, reading = played(Attack(queries=40), about, 4_000)
    right = ((scores >= 0) == members).mean(axis=0)
    assert right[0] > right[2] > right[3]
    assert right.mean() == pytest.approx(reading.studied["least_squares_expected"], abs=0.015)


@pytest.mark.parametrize("method", METHODS)
def test_refused_answers_are_left_out(method):
    """Under a sequential budget, only the first answers count, and theory knows it."""
    noise = laplace.Mechanism(epsilon=1.0)
    paid = knowledge(shifts=bits(6), noise=noise, accountant="sequential", budget=60.0)
    free = knowledge(shifts=bits(6), noise=noise)
    n_rounds = 1_000 if method == "least_squares" else 100
    few, error, studied = recovered(Attack(queries=300, method=method), paid, n_rounds)
    same, other, expected = recovered(Attack(queries=60, method=method), free, n_rounds)
    assert abs(few - same) < 4 * (error + other)
    assert studied == pytest.approx(expected)


def test_no_answer_is_no_evidence():
    about = knowledge(shifts=bits(3), accountant="sequential", budget=0.5)
    _, scores, reading = played(Attack(queries=20), about, 50)
    assert (scores == 0).all()
    assert reading.studied["least_squares_expected"] == reading.studied["recovery_allowed"] == 0.5


def test_theory_is_silent_where_refusals_depend_on_questions():
    about = knowledge(shifts=bits(3), accountant="per_predicate", budget=5.0)
    assert Attack(queries=20).study(about, np.random.default_rng(1)).reading.studied == {}


def test_smallest_count_is_respected():
    owner = game(targets=8, at_least=10, mechanism={"name": "gaussian", "sigma": 1.0, "delta": 1e-5})
    about = known(owner)
    adversary = Adversary(about, Attack(queries=80).study(about, np.random.default_rng(1)))
    found = play(owner, {"it": adversary}, 1, range(1_000), 0)["it"]
    share = ((found.scores >= 0) == found.members).mean()
    assert share == pytest.approx(found.reading.studied["least_squares_expected"], abs=0.02)


def test_predicates_select_the_same_records_as_ids():
    owner = game(targets=4, mechanism={"name": "laplace", "scale": 1e-3})
    about, found = known(owner), []
    for by in (SelectBy.IDS, SelectBy.PREDICATE):
        scorer = Attack(queries=30, by=by).study(about, np.random.default_rng(1))
        found.append(play(owner, {"it": Adversary(about, scorer)}, 1, range(50), 0)["it"])
    np.testing.assert_array_equal(found[0].scores, found[1].scores)
    assert ((found[0].scores >= 0) == found[0].members).all()


@pytest.mark.parametrize("method", METHODS)
def test_positive_control_passes(method):
    owner = game(targets=5, data={"records": 40}, budget=30.0)
    assert played_control("queries", owner.control(), "reconstruction", method=method)["status"] == "passed"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Attack(queries=0), "queries must be in"),
        (lambda: Attack(method="guess"), "method must be least_squares or linear_program"),
        (lambda: Attack(by=SelectBy.ATTRIBUTES), "names records by ids"),
        (
            lambda: Attack().study(
                known(game(query={"kind": "histogram", "group_by": "region", "groups": ["north"]})),
                np.random.default_rng(1),
            ),
            "counts and sums without groups",
        ),
        (
            lambda: Attack().study(known(game(at_least=20), records=10), np.random.default_rng(1)),
            "needs 20 known records",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()
