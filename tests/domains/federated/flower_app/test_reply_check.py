"""Which parts of replies depend on rows, and which tell two worlds apart: bound, false alarms and power."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from leakgauge.domains.federated.conformance import compare_transcripts
from leakgauge.domains.federated.flower_app.client_games import LAYOUT, AppRows, ClientAnswer, LinearStack
from leakgauge.domains.federated.flower_app.planted_layers import TargetFeatures
from leakgauge.domains.federated.flower_app.reply_check import WEIGHTS, _Check, check_replies
from leakgauge.theory.stated_promise import StatedPromise

TARGET = (0, 0)
ROWS = AppRows((TARGET,), tuple((1, row) for row in range(30)), (), 10)
SENT = {
    "1.weight": np.zeros((8, 3)),
    "1.bias": np.zeros(8),
    "2.weight": np.zeros((2, 8)),
    "2.bias": np.zeros(2),
}
STACK = LinearStack(
    weights=("1.weight", "2.weight"), biases=("1.bias", "2.bias"), dropout=False, features=3, width=8
)
FEATURES = TargetFeatures(np.ones((2, 3)), np.random.default_rng(0).normal(size=(30, 3)), 0)
PROMISE = StatedPromise(epsilon=1.0)
APP = {"challenger": {"app": ".", "data_hook": "task:load"}, "mechanism": {}, "folder": Path()}


class Client:
    """Answers with noise in its weights, and with fields that a function makes."""

    def __init__(self, fields, weights=None):
        self.description = SimpleNamespace(
            sent=SENT,
            stack=STACK,
            other_kinds=("query.stats",),
            other_client=3,
            keeps_state=False,
            n_messages=5,
        )
        self.fields, self.weights, self.games, self.shift = fields, weights, 0, 0.0

    def play(self, games):
        for game in games:
            self.games += 1
            rng, is_in = np.random.default_rng([game.seed, is_target(game)]), is_target(game)
            moved = {name: rng.normal(size=array.shape) for name, array in SENT.items()}
            moved |= {} if self.weights is None else self.weights(is_in)
            if game.partition is not None:
                moved = {name: array + self.shift for name, array in moved.items()}
            yield ClientAnswer(moved, self.fields(rng, is_in, game))


def is_target(game):
    return TARGET in game.rows


def check(fields, promise=PROMISE, weights=None):
    return check_replies(Client(fields, weights), ROWS, FEATURES, promise, iterations=5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (3.0, 1e-5)])
def test_no_mechanism_within_the_promise_is_told_apart_more_often(epsilon, delta):
    """Against all mechanisms with three outputs, on a grid of how often the second is right.

    The rule says "in" for the first output and "out" for the second; the third stands for neither.
    """
    most, bound = 0.0, StatedPromise(epsilon=epsilon, delta=delta).chance_told(1)
    factor = np.exp(epsilon)
    for q in np.linspace(0, 1, 201):  # P(out | out); the largest P(in | in) is a linear programme
        # variables: p_in, p_out, p_else, q_in, q_else
        sums = [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]
        events = []
        for one in (0, 1):
            for chosen in np.ndindex(2, 2, 2):
                world_p = np.array([*chosen, 0, 0], float)
                world_q, fixed = np.array([0, 0, 0, chosen[0], chosen[2]], float), chosen[1] * q
                left, right = (world_p, world_q) if one == 0 else (world_q, world_p)
                extra = factor * fixed if one == 0 else -fixed
                events.append((left - factor * right, delta + extra))
        found = linprog(
            [-1, 0, 0, 0, 0],
            A_ub=[row for row, _ in events],
            b_ub=[limit for _, limit in events],
            A_eq=sums,
            b_eq=[1, 1 - q],
            bounds=[(0, 1)] * 5,
        )
        if found.success:
            most = max(most, -found.fun * q)
    assert most <= bound + 1e-9
    assert most >= 0.97 * bound  # and nearly as often by some mechanism of the grid


def test_games_that_are_enough_follow_from_epsilon():
    found = check(lambda _, is_in, __: {"loss": float(is_in)})
    assert (found.varying, found.telling) == (("loss",), ("loss",))
    assert (
        found.games == 49
    )  # 44.1 for one rule; there are 18: the weights, each array, the loss, each in three kinds of games
    chances = [18 * PROMISE.chance_told(n) for n in (48, 49)]
    assert chances[0] >= 1e-12 > chances[1]


def test_a_large_epsilon_takes_too_many_games_and_leaves_it_to_the_attacks():
    found = check(lambda _, is_in, __: {"loss": float(is_in)}, StatedPromise(epsilon=8.0))
    assert (found.varying, found.telling, found.games) == (("loss",), ("loss",), 0)  # no certain violation


@pytest.mark.parametrize("value", [lambda is_in: "yes" * is_in, lambda is_in: [1, 2, is_in], float])
def test_constants_of_any_kind_tell(value):
    from leakgauge.domains.federated.flower_app.flower_internals import _number

    assert check(lambda _, is_in, __: {"it": _number(value(is_in))}).telling == ("it",)


def test_a_field_that_comes_or_goes_with_the_target_varies():
    assert check(lambda _, is_in, __: {"it": 1.0} if is_in else {}).varying == ("it",)


def test_fields_that_no_row_changes_do_not_vary():
    assert check(lambda rng, *_: {"num-examples": 10.0}).varying == ()
    assert check(lambda _, __, game: {"seeded": float(game.seed)}).varying == ()


def test_fields_that_only_other_rows_change_vary():
    def parity(_, __, game):
        return {"parity": float(sum(row for _, row in game.rows if row < 29) % 2)}

    assert check(parity).varying == ("parity",)


def test_randomised_response_at_the_promise_is_told_no_more_often_than_the_bound():
    """With four games a world, so that false alarms are frequent enough to be counted."""
    right, alarms, runs = np.e / (1 + np.e), 0, 1_000
    for run in range(runs):
        draws = np.random.default_rng(run)
        client = Client(lambda _, is_in, __, draws=draws: {"bit": float((draws.random() < right) == is_in)})
        alarms += "bit" in _Check(client, ROWS, FEATURES)._telling({}, ("bit",), 4)
    bound = PROMISE.chance_told(4)
    assert alarms / runs <= bound + 3 * np.sqrt(bound / runs)


def test_noise_within_the_promise_is_not_called_certain():
    found = check(lambda rng, is_in, _: {"noisy": is_in + rng.laplace()})
    assert (found.varying, found.telling) == (("noisy",), ())


def test_weights_without_noise_tell():
    found = check(lambda *_: {}, weights=lambda is_in: {name: array + is_in for name, array in SENT.items()})
    assert WEIGHTS in found.telling
    assert not check(lambda *_: {}).telling


def test_noise_that_repeats_is_seen_in_weights_that_no_row_moves():
    noise = np.random.default_rng(5).normal(size=(8, 3))
    found = check(
        lambda *_: {}, weights=lambda is_in: {"1.weight": noise, "2.weight": SENT["2.weight"] + is_in}
    )
    assert found.repeats
    assert not check(lambda *_: {}).repeats


def test_more_games_are_played_only_while_something_tells():
    client = Client(lambda rng, *_: {"noisy": rng.normal()})
    _Check(client, ROWS, FEATURES).telling(("noisy",), 250)
    assert client.games < 100
    counts = []
    for games in (10, 20):
        client = Client(lambda _, is_in, __: {"loss": float(is_in)})
        _Check(client, ROWS, FEATURES).telling(("loss",), games)
        counts.append(client.games)
    assert [after - before for before, after in pairwise(counts)] == [60]  # two worlds, three kinds of games


def test_fields_that_another_client_or_the_last_training_round_has_vary():
    assert check(lambda _, __, game: {"where": float(game.partition or 0)}).varying == ("where",)
    assert check(lambda _, is_in, game: {"late": float(is_in)} if game.number == 5 else {}).varying == (
        "late",
    )
    other = check(lambda _, is_in, game: {"mean": float(is_in)} if game.kind == "query.stats" else {})
    assert other.varying == ("mean",)


def test_weights_that_another_client_changes_are_named():
    client = Client(lambda *_: {})
    assert check_replies(client, ROWS, FEATURES, PROMISE, 5).unread == ()
    client.shift = 0.1  # by data that no game replaces
    (name,) = check_replies(client, ROWS, FEATURES, PROMISE, 5).unread
    assert name == "data that the client loads in another way, and that change its weights"


def test_what_cannot_be_compared_is_named():
    client = Client(lambda *_: {})
    client.description.other_client, client.description.keeps_state = None, True
    names = check_replies(client, ROWS, FEATURES, PROMISE).unread
    assert [name.partition(" (")[0] for name in names] == [
        "data that the client loads in another way",
        "what the client keeps from earlier messages",
        "further messages",
    ]


@pytest.mark.parametrize("promise", [PROMISE, None])
def test_weights_of_the_last_training_round_tell(promise):
    """The noise is gone in the last round."""

    class Once(Client):
        def play(self, games):
            for game in games:
                (answer,) = super().play([game])
                update = {name: array + is_target(game) for name, array in SENT.items()}
                yield ClientAnswer(update if game.number == 5 else answer.update, {})

    found = check_replies(Once(lambda *_: {}), ROWS, FEATURES, promise)
    assert WEIGHTS in found.telling
    assert (found.games > 0) == (promise is not None)


def test_an_array_that_tells_without_a_promise_is_named_unless_weights_are_read():

    class OneArray(Client):
        def play(self, games):
            for game in games:
                (answer,) = super().play([game])
                loud = {name: 1e6 * array for name, array in answer.update.items()}
                yield ClientAnswer(loud | {"2.bias": np.full(2, float(is_target(game)))})

    found = check_replies(OneArray(lambda *_: {}), ROWS, FEATURES, None, iterations=5)
    assert found.telling == ("2.bias",)
    named = compare_transcripts([found.columns((), set())], **APP).unread
    assert named == ("the array 2.bias of a reply",)
    assert compare_transcripts([found.columns({""}, set())], **APP).unread == ()


def test_a_field_that_only_rounds_have_is_named():
    found = check(lambda *_: {"num-examples": 10.0, LAYOUT: 7.0})
    same = {("num-examples", 0.0), (LAYOUT, 7.0)}
    assert found.columns((), same) == {}
    for more, name in (("loss", 0.0), "the field loss of a reply"), ((LAYOUT, 8.0), f"{LAYOUT} of a reply"):
        transcript = found.columns((), same | {more})
        assert compare_transcripts([transcript], **APP).unread == (name,)
