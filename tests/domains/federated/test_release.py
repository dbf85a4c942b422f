import numpy as np
import pytest

from domains.federated.small_games import random_network, random_pool
from leakgauge.domains.federated.clients.gradients import GradientNoise, neuron_gradient
from leakgauge.domains.federated.release import ClientGroups, ClientTraining
from leakgauge.mechanisms import bitrand

FEATURES, TARGETS = 6, 3
POOL = random_pool(50, TARGETS, FEATURES, np.random.default_rng(1))
MEMBERS = np.random.default_rng(2).random((8, TARGETS)) < 0.5


def clients(seed=9, members=MEMBERS, **training):
    return ClientGroups(POOL, ClientTraining(**({"batch": 5} | training)), members, seed)


def networks(units=4, seed=3):
    rng = np.random.default_rng(seed)
    return [random_network(FEATURES, units, 4, 3, rng) for _ in range(TARGETS)]


def is_target(rows, target):
    return (rows == POOL.targets[target]).all(axis=1)


@pytest.mark.parametrize("n_clients", [1, 3])
def test_member_is_in_its_own_group_once(n_clients):
    group = clients(clients=n_clients, iterations=2)
    for row, target in np.ndindex(MEMBERS.shape):
        for iteration in range(2):
            held = group.held(row, target, iteration)
            assert [one.rows.shape for one in held] == [(5, FEATURES)] * n_clients
            found = np.concatenate([is_target(one.rows, target) for one in held])
            assert found.sum() == MEMBERS[row, target]
            everything = np.concatenate([one.rows for one in held])
            assert (everything < 0).any(axis=1).sum() == MEMBERS[row, target]  # nor any other target
            assert len(np.unique(everything, axis=0)) == 5 * n_clients  # nobody twice


def test_rows_keep_their_labels():
    for row, target in np.ndindex(MEMBERS.shape):
        (held,) = clients().held(row, target, 0)
        for values, label in zip(held.rows, held.labels):
            own = np.flatnonzero((POOL.rows == values).all(axis=1))
            assert label == (POOL.labels[own[0]] if own.size else POOL.target_labels[target])


def test_member_replaces_exactly_one_row():
    without, within = (clients(members=np.full((4, TARGETS), bit)) for bit in (False, True))
    for row, target in np.ndindex(4, TARGETS):
        (one,), (other,) = without.held(row, target, 0), within.held(row, target, 0)
        assert one.seed == other.seed
        assert (one.rows != other.rows).any(axis=1).sum() == 1


def test_rounds_targets_and_iterations_draw_separate_rows():
    group = clients(members=np.zeros((2, TARGETS), dtype=bool))
    keys = [
        (row, target, iteration) for row in range(2) for target in range(TARGETS) for iteration in range(2)
    ]
    drawn = [group.held(*key)[0] for key in keys]
    assert len({one.rows.tobytes() for one in drawn}) == len(keys)
    assert len({one.seed for one in drawn}) == len(keys)


def test_pool_is_unchanged():
    before = POOL.rows.copy()
    clients(mechanism=bitrand.Mechanism(epsilon=5.0, features=FEATURES)).train(networks())
    np.testing.assert_array_equal(POOL.rows, before)


def test_answers_are_reproducible_and_differ_between_clients():
    noisy = {
        "mechanism": bitrand.Mechanism(epsilon=5.0, features=FEATURES),
        "noise": GradientNoise(epsilon=1.0),
    }
    first, again, other = (clients(seed, **noisy).train(networks()) for seed in (9, 9, 10))
    np.testing.assert_array_equal(first, again)
    assert (np.array(first) != np.array(other)).any()


def test_all_adversaries_meet_same_rows_and_noise(monkeypatch):
    """Whatever they send: a larger network takes more noise on its gradient, and shifts nothing."""
    import leakgauge.domains.federated.clients.whole_gradients as module

    met = {}

    def watched(network, rows, labels, noise):
        met.setdefault(len(network.first[0]), []).append((rows.copy(), labels.copy()))
        return clipped(network, rows, labels, noise)

    clipped = module.clipped_answer
    monkeypatch.setattr(module, "clipped_answer", watched)
    group = clients(
        mechanism=bitrand.Mechanism(epsilon=5.0, features=FEATURES),
        noise=GradientNoise(epsilon=1.0),
        iterations=3,
        clients=2,
    )
    for units in (4, 11):
        group.train(networks(units))
    assert len(met[4]) == len(met[11]) == MEMBERS.size * 3 * 2
    for (one, labels), (other, other_labels) in zip(met[4], met[11]):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(labels, other_labels)


def test_group_answer_is_mean_of_clients():
    group, sent = clients(clients=4), networks()
    answers = group.train(sent)
    for row, target in np.ndindex(MEMBERS.shape):
        each = [neuron_gradient(sent[target], one.rows, one.labels) for one in group.held(row, target, 0)]
        np.testing.assert_allclose(answers[row][target], sum(each) / 4, rtol=1e-12)
        together = group.held(row, target, 0)
        rows, labels = (
            np.concatenate([getattr(one, part) for one in together]) for part in ("rows", "labels")
        )
        np.testing.assert_allclose(
            answers[row][target], neuron_gradient(sent[target], rows, labels), atol=1e-6
        )


def test_rows_are_perturbed_anew_in_every_iteration():
    mechanism = bitrand.Mechanism(epsilon=1.0, features=FEATURES)
    one = clients(mechanism=mechanism, members=np.ones((1, TARGETS), dtype=bool))
    seeds = [one.held(0, 0, iteration)[0].seed for iteration in range(5)]
    drawn = [mechanism.sample(POOL.targets[:1].astype(float), np.random.default_rng(seed)) for seed in seeds]
    assert len({values.tobytes() for values in drawn}) == 5


def test_noise_is_never_reused(monkeypatch):
    """Not in a batch, nor in a group, nor in two iterations, targets or rounds."""
    import leakgauge.domains.federated.clients.whole_gradients as module

    on_rows, on_gradients = [], []

    class Noted:
        def sample(self, values, rng):
            on_rows.extend(rng.random(len(values)))
            return values

    monkeypatch.setattr(
        module,
        "draw_noise",
        lambda *given: on_gradients.append(given[-1].random()) or np.zeros((1, 1)),
    )
    clients(mechanism=Noted(), noise=GradientNoise(epsilon=1.0), iterations=3, clients=2).train(networks())
    assert len(on_gradients) == len(set(on_gradients)) == MEMBERS.size * 3 * 2
    assert len(on_rows) == len({*on_rows, *on_gradients}) - len(on_gradients) == len(on_gradients) * 5


def test_member_is_in_stated_share_of_batches():
    n = 4_000
    group = clients(present=0.3, members=np.ones((n, TARGETS), dtype=bool))
    share = np.mean([is_target(group.held(row, 1, 0)[0].rows, 1).any() for row in range(n)])
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / n)


@pytest.mark.parametrize("added", ["client", "sum"])
@pytest.mark.parametrize("clipped", ["example", "update"])
def test_noise_on_average_is_that_of_clients_or_of_their_sum(added, clipped):
    noise = GradientNoise(sigma=2.0, clip=0.5, added=added, clipped=clipped)
    members = np.zeros((40, TARGETS), dtype=bool)
    (noisy, plain) = (
        np.array(clients(members=members, clients=4, iterations=2, noise=one).train(networks()))
        for one in (noise, GradientNoise(sigma=1e-9, clip=0.5, added=added, clipped=clipped))
    )
    one_answer = 2.0 * 0.5 / (5 if clipped == "example" else 1)  # of the mean of five rows, or of an update
    expected = one_answer / (np.sqrt(4 * 2) if added == "client" else 4 * np.sqrt(2))
    found = (noisy - plain).ravel()
    assert np.std(found) == pytest.approx(expected, rel=4 / np.sqrt(2 * found.size))
    assert abs(np.mean(found)) < 4 * expected / np.sqrt(found.size)
