import warnings
from dataclasses import replace
from itertools import chain

import cloudpickle
import numpy as np
import pytest

from domains.federated.flower.in_process_clients import Straight, block, networks
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.flower.client_app import SimulatedClients, client_app
from leakgauge.domains.federated.flower.server_app import client_requests, server_app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr  # noqa: F401


@pytest.fixture(autouse=True)
def in_a_run():
    """Messages belong to a run, which Flower itself would have begun."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1


def ask(folder, clients, models, app=None, n_nodes=5):
    """What the server's app makes of what the clients' app answers, and the grid between them."""
    from flwr.app import Context, RecordDict

    file = folder / "clients.pickle"
    file.write_bytes(cloudpickle.dumps(SimulatedClients(clients, app)))
    grid, found = Straight(client_app(file), n_nodes), []
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
    server_app(clients, n_nodes, iter([models]), found.append)(grid, context)
    return found[0], grid


def same(one, other):
    assert [len(row) for row in one] == [len(row) for row in other]
    for got, due in zip(chain(*one), chain(*other)):
        np.testing.assert_array_equal(got, due)


@pytest.mark.parametrize(
    "training",
    [
        {},
        {"mechanism": None},
        {"clients": 3},
        {"clients": 2, "iterations": 3, "present": 0.5, "noise": GradientNoise(sigma=0.1)},
    ],
    ids=["one client", "no noise", "three clients", "noisy gradients"],
)
def test_flower_gradients_match_in_process_game(tmp_path, training):
    clients = block(n_rounds=6, **training)
    answers, _ = ask(tmp_path, clients, networks())
    same(answers, clients.train(networks()))
    active = np.array([[np.any(one) for one in row] for row in answers])
    assert active.any()
    if "noise" not in training:
        assert not active.all()  # exactly zero there, as without Flower


def aimed(n_targets=2):
    """Networks whose answers are read in a direction of all weights, not of norm 1."""
    rng = np.random.default_rng(13)
    return [
        replace(
            network,
            direction=tuple(
                tuple(rng.normal(size=part.shape).astype(np.float32) for part in layer)
                for layer in network.layers
            ),
        )
        for network in networks(n_targets, bias=-3.0)
    ]


@pytest.mark.parametrize("clipped", ["example", "update"])
def test_whole_gradients_are_read_in_their_direction(tmp_path, tmp_path_factory, clipped):
    """Clients add noise to every weight; its projection is as large as that of the game without Flower."""
    training = {"clients": 2, "iterations": 2}
    noise = GradientNoise(sigma=1e-9, clip=0.5, clipped=clipped)
    exact = block(n_rounds=12, **training, noise=noise)
    answers, _ = ask(tmp_path, exact, aimed())
    due = np.array(exact.train(aimed()))
    np.testing.assert_allclose(np.array(answers), due, rtol=1e-4, atol=1e-6)
    assert due.any()
    noisy = block(n_rounds=60, **training, noise=replace(noise, sigma=2.0))
    quiet = block(n_rounds=60, **training, noise=noise)
    drawn = np.array(ask(tmp_path_factory.mktemp("noisy"), noisy, aimed())[0]) - np.array(
        quiet.train(aimed())
    )
    scale = 2.0 * 0.5 / (4 if clipped == "example" else 1) / np.sqrt(4)  # two clients, two iterations
    units = drawn[:, :, 0] / scale / [network.direction_norm for network in aimed()]
    assert np.std(units) == pytest.approx(1, abs=4 / np.sqrt(2 * units.size))
    assert abs(np.mean(units)) < 4 / np.sqrt(units.size)


def test_whole_gradients_of_user_apps(tmp_path):
    """An app that answers with all gradients is read; new weights, or a part of them, are refused."""

    def answer(**records):
        return own(lambda message, context: reply(message, **records))

    clients, models = block(n_rounds=1, n_targets=1), aimed(1)
    parts = [part for layer in models[0].layers for part in layer]
    names = [f"{layer}.{part}" for layer in (0, 2, 4) for part in ("weight", "bias")]
    ones = {name: np.ones(part.shape, np.float32) for name, part in zip(names, parts)}
    file = tmp_path / "clients.pickle"
    [[got]], _ = ask_with(file, clients, models, answer(gradients=records(ones)))
    total = sum(float(part.sum(dtype=np.float64)) for layer in models[0].direction for part in layer)
    assert got == pytest.approx(total, rel=1e-5)
    for given, told in (
        ({"arrays": records(ones)}, "answer with 'gradients' of all weights, or use another attack"),
        ({"gradients": records({"2.weight": np.ones(3)})}, r"no '0.weight' of shape \(6, 8\)"),
        ({"gradients": records(ones | {"4.bias": np.full(3, np.nan)})}, "not finite"),
    ):
        with pytest.raises(BadInput, match=told):
            ask_with(file, clients, models, answer(**given))


def test_gradients_of_group_are_averaged(tmp_path):
    clients = block(n_rounds=1, n_targets=1, clients=3)
    [network] = networks(n_targets=1)
    [[got]], _ = ask(tmp_path, clients, [network])
    alone = [clients.training.answer(network, held) for held in clients.held(0, 0, 0)]
    np.testing.assert_allclose(got, (alone[0] + alone[1] + alone[2]) / 3, rtol=1e-12)
    assert not np.array_equal(alone[0], alone[1])


def test_every_client_is_asked_once_and_nodes_never_in_parallel(tmp_path):
    clients = block(n_rounds=4, n_targets=2, clients=2)
    _, grid = ask(tmp_path, clients, networks(), n_nodes=5)
    assert [len(wave) for wave in grid.waves] == [5, 5, 5, 1]
    assert all(len(set(wave)) == len(wave) for wave in grid.waves)
    assert len(set(client_requests(clients))) == 4 * 2 * 2


def test_messages_of_server_hold_no_rows(tmp_path):
    seen = []

    class Listening(Straight):
        def send_and_receive(self, messages, **_):
            messages = list(messages)
            seen.extend(sorted(message.content) for message in messages)
            return super().send_and_receive(messages)

    from flwr.app import Context, RecordDict

    clients, file = block(), tmp_path / "clients.pickle"
    file.write_bytes(cloudpickle.dumps(SimulatedClients(clients)))
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
    server_app(clients, 5, iter([networks()]), lambda _: None)(Listening(client_app(file), 5), context)
    assert seen == [["arrays", "config"]] * 6


def own(train):
    from flwr.clientapp import ClientApp

    app = ClientApp()
    app.train()(train)
    return app


def reply(message, **records):
    from flwr.app import Message, RecordDict

    return Message(content=RecordDict(records), reply_to=message)


def test_user_app_gets_model_rows_and_seed_but_not_target(tmp_path):
    clients, seen = block(n_rounds=1, n_targets=1), []

    def train(message, context):
        from flwr.app import ConfigRecord

        content = message.content
        rows, labels = (content["data"][name].numpy() for name in ("rows", "labels"))
        seen.append((sorted(content), dict(content["config"]), rows, labels, dict(context.state)))
        context.state["left"] = ConfigRecord({"asked": 1})
        return reply(message, arrays=content["arrays"])

    app = own(train)
    file = tmp_path / "clients.pickle"
    [[got]], _ = ask_with(file, clients, networks(n_targets=1), app)
    assert not got.any()  # weights came back as they were sent
    [held] = clients.held(0, 0, 0)
    [(names, config, rows, labels, state)] = seen
    assert names == ["arrays", "config", "data"]
    assert config == {"seed": held.seed}
    np.testing.assert_array_equal(rows, held.rows)
    np.testing.assert_array_equal(labels, held.labels)
    assert not state


def ask_with(file, clients, models, app):
    """As ``ask``, with an app that is not copied, so that it can tell us what it saw."""
    from unittest.mock import patch

    with patch(
        "leakgauge.domains.federated.flower.client_app._load_clients",
        lambda _: SimulatedClients(clients, app),
    ):
        from flwr.app import Context, RecordDict

        grid, found = Straight(client_app(file), 2), []
        context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
        server_app(clients, 2, iter([models]), found.append)(grid, context)
        return found[0], grid


def test_user_app_taking_an_sgd_step_reveals_its_gradient(tmp_path):
    """A step of plain gradient descent at rate 1 takes the gradient off the weights: torch's own."""

    def train(message, context):
        import torch
        from flwr.app import ArrayRecord

        state = message.content["arrays"].to_torch_state_dict()
        units, features = state["0.weight"].shape
        classes, neurons = state["4.weight"].shape
        linear, relu = torch.nn.Linear, torch.nn.ReLU
        model = torch.nn.Sequential(
            linear(features, units), relu(), linear(units, neurons), relu(), linear(neurons, classes)
        )
        model.load_state_dict(state)
        data = message.content["data"]
        rows, labels = (torch.from_numpy(data[name].numpy()) for name in ("rows", "labels"))
        torch.nn.functional.cross_entropy(model(rows), labels).backward()
        torch.optim.SGD(model.parameters(), lr=1.0).step()
        return reply(message, arrays=ArrayRecord(model.state_dict()))

    clients = block(n_rounds=6, mechanism=None)
    answers, _ = ask(tmp_path, clients, networks(), own(train))
    for got, due in zip(chain(*answers), chain(*clients.train(networks()))):
        np.testing.assert_allclose(got, due, atol=2e-6)  # weights are of single precision
        assert got.any() == due.any()


def trained_by(optimizer, steps=1):
    """A client that takes some steps of an optimiser of torch on all its rows."""

    def train(message, context):
        import torch
        from flwr.app import ArrayRecord

        state = message.content["arrays"].to_torch_state_dict()
        shapes = [state[f"{layer}.weight"].shape for layer in (0, 2, 4)]
        layers = [torch.nn.Linear(inputs, outputs) for outputs, inputs in shapes]
        model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
        model.load_state_dict(state)
        data, steps_of = message.content["data"], optimizer(model.parameters())
        rows, labels = (torch.from_numpy(data[name].numpy()) for name in ("rows", "labels"))
        for _ in range(steps):
            steps_of.zero_grad()
            torch.nn.functional.cross_entropy(model(rows), labels).backward()
            steps_of.step()
        return reply(message, arrays=ArrayRecord(model.state_dict()))

    return own(train)


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("name", ["SGD", "momentum", "AdamW", "Adam", "weak decay"])
def test_weight_decay_does_not_look_like_an_active_neuron(tmp_path, name, steps):
    import torch

    optimizer = {
        "SGD": lambda given: torch.optim.SGD(given, lr=0.1, weight_decay=0.05),
        "weak decay": lambda given: torch.optim.SGD(given, lr=0.01, weight_decay=1e-4),
        "momentum": lambda given: torch.optim.SGD(given, lr=0.1, weight_decay=0.01, momentum=0.9),
        "AdamW": lambda given: torch.optim.AdamW(given, lr=0.001, weight_decay=0.1),
        "Adam": lambda given: torch.optim.Adam(given, lr=0.001, weight_decay=0.01),
    }[name]
    clients = block(n_rounds=12, mechanism=None)
    models = networks(bias=-5.0)
    answers, _ = ask(tmp_path, clients, models, trained_by(optimizer, steps))
    active = [bool(due.any()) for due in chain(*clients.train(models))]
    assert [bool(got.any()) for got in chain(*answers)] == active
    assert 3 <= sum(active) <= len(active) - 3


def test_gradient_along_the_weights_is_kept_if_a_zero_weight_moves():
    """One unit, as the attack on the first layer has it: its weight and gradient are positive, its bias 0."""
    from leakgauge.domains.federated.flower.messages import without_decay

    network = replace(
        networks(chosen=1)[0], second=(np.float32([[0.5], [1.0]]), np.float32([0.0, 1.0])), chosen=1
    )
    np.testing.assert_array_equal(without_decay(np.array([[3.0, 0.1]]), network), [[3.0, 0.1]])
    np.testing.assert_array_equal(without_decay(np.array([[3.0, 0.0]]), network), [[0.0, 0.0]])


def failing(message, context):
    raise ValueError("out of\nrows")


def silent(message, context):
    return reply(message)


def renaming(message, context):
    return reply(message, arrays=records({"weight": np.zeros(3)}))


def shrinking(message, context):
    return reply(message, gradients=records({"2.weight": np.zeros((1, 3)), "2.bias": np.zeros(1)}))


def exploding(message, context):
    return reply(message, gradients=records({"2.weight": np.full((2, 6), np.nan), "2.bias": np.zeros(2)}))


def records(arrays):
    from leakgauge.domains.federated.flower.messages import array_record

    return array_record(arrays)


@pytest.mark.parametrize(
    ("train", "told"),
    [
        (failing, r"target 0 failed: it raised ValueError: out of rows \(.*test_server_app.py, line \d+\)$"),
        (silent, "round 0 and target 0: the answer holds .*must hold 'gradients'"),
        (renaming, "has no '2.weight'; keep the names"),
        (shrinking, r"the shape \(1, 3\); \(5, 6\) was sent"),
        (exploding, "not finite"),
    ],
    ids=["failing", "silent", "renaming", "shrinking", "exploding"],
)
def test_invalid_answers_of_user_app_are_reported(tmp_path, train, told):
    with pytest.raises(BadInput, match=told):
        ask_with(tmp_path / "clients.pickle", block(), networks(), own(train))
