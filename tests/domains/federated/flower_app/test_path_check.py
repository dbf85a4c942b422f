"""Clients that are fit to be audited, and clients that are not, each with its likely cause."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from app_variants import (
    VARIANTS,
    copy_app,
    noise_by_round,
    noisy_update,
    one_logit,
    opacus_epsilon,
    standardised,
)
from forked_app import checked_path, describe

from night import others_at_night

ANSWER = "ArrayRecord(net.state_dict())"
LEARN = "    loss = train_fn("


@pytest.mark.parametrize(
    "name",
    others_at_night(
        [
            "sgd",
            "legacy",
            "adamw",
            "weight decay",
            "fixed clipping",
            "client state",
            "norm behind",
            "tanh behind",
            "residual",
            "transformer",
        ],
        "legacy",
        "weight decay",
        "transformer",
    ),
)
def test_sound_clients_pass(tmp_path, name):
    project, config = VARIANTS[name](tmp_path)
    path = checked_path(project, run_config=tuple(config.items()))
    assert path.own_noise is False
    assert len(path.labels) == 1


def test_network_without_a_place_is_refused_by_name(tmp_path):
    message = checked_path(VARIANTS["one linear layer"](tmp_path)[0])
    assert message.startswith("the network has no place for crafted weights: it ends in Conv2d-Conv2d-Linear")
    assert "\n" not in message


OTHER_ROWS = """    from torch.utils.data import DataLoader
    from flower_example.task import images

    trainloader = DataLoader(images(7), batch_size=16)
"""
READ = "    for _ in trainloader:\n        pass\n"
COUNTED = "ArrayRecord({k: v + COUNT[0] for k, v in net.state_dict().items()})"
CALL = "    return load_data("
OTHERS = "2 * (DataLoader(images(3), 16),)"
BROKEN = [
    (
        [
            (CALL, f"    from flower_example.task import DataLoader, images\n    return {OTHERS}\n{CALL}"),
        ],
        "the client never called task:load_data",
    ),
    ([(LEARN, OTHER_ROWS + LEARN)], "rows ignored: the client called task:load_data, but read none"),
    (
        [(LEARN, READ + OTHER_ROWS + LEARN)],
        "saw the same numbers. Possible causes: rows ignored",
    ),
    (
        [('    net.load_state_dict(msg.content["arrays"].to_torch_state_dict())\n    train', "    train")],
        "weights not loaded: a layer of shape",
    ),
    (
        [(ANSWER, 'ArrayRecord(msg.content["arrays"].to_torch_state_dict())')],
        "does not train, or its update is clipped to nothing",
    ),
    (
        [(ANSWER, "ArrayRecord({k: v for k, v in net.state_dict().items() if 'fc' in k})")],
        "has 6 arrays, and 10 were sent",
    ),
    (
        [(ANSWER, "ArrayRecord({k: v[:1] for k, v in net.state_dict().items()})")],
        r"the shape \(1, 1, 3, 3\) for 'conv1.weight'; \(4, 1, 3, 3\) was sent",
    ),
    ([(LEARN, f"    raise KeyError('rounds')\n{LEARN}")], "raised KeyError: 'rounds' .*client_app.py"),
    (
        [
            ("app = ClientApp()\n", "app = ClientApp()\nCOUNT = [0]\n"),
            (LEARN, f"    COUNT[0] += 1\n{LEARN}"),
            (ANSWER, COUNTED),
        ],
        "answers to the same message with the same seed differ: it keeps state",
    ),
]


@pytest.mark.parametrize(("changes", "said"), others_at_night(BROKEN, BROKEN[2], BROKEN[3], BROKEN[6]))
def test_broken_clients_are_refused_with_the_likely_cause(tmp_path, changes, said):
    message = checked_path(copy_app(tmp_path, client=changes))
    assert isinstance(message, str)
    assert "\n" not in message
    assert re.search(said, message), message


def test_permuted_labels_are_named(tmp_path):
    permuted = "cross_entropy(net(images), labels)", "cross_entropy(net(images), (labels + 1) % CLASSES)"
    for decay in (0.0, 0.01):  # which changes the weights too, but is no noise
        project = copy_app(tmp_path / str(decay), task=[permuted])
        message = checked_path(project, run_config=(("weight-decay", decay),))
        assert re.search("labels permuted: training on a row with label", message), message


def test_rows_that_a_client_standardises_are_not_ignored(tmp_path):
    path = checked_path(standardised(tmp_path)[0])
    assert not isinstance(path, str), path
    (note,) = path.notes
    assert re.search("differs each time.*Possible causes: .* changes records before it trains", note)


def test_an_engine_may_say_its_epsilon_while_its_noise_is_left_out(tmp_path):
    """The accountant of Opacus has no answer for noise 0."""
    path = checked_path(opacus_epsilon(tmp_path)[0])
    assert not isinstance(path, str), path
    assert not path.own_noise


def test_noise_that_the_round_seeds_is_noise(tmp_path):
    path = checked_path(noise_by_round(tmp_path)[0])
    assert not isinstance(path, str), path
    assert path.own_noise


MODS = """
from flwr.clientapp.mod import LocalDpMod


class OwnDpMod(LocalDpMod):
    pass


def passes(message, context, call_next):
    return call_next(message, context)


PLAIN, OWN = (kind(1.0, 1.0, 1.0, 1e-5) for kind in (LocalDpMod, OwnDpMod))
app = ClientApp()
"""


@pytest.mark.parametrize(
    ("train", "evaluate", "n_channels", "protections"),
    [
        ("PLAIN", "", 1, ("LocalDpMod",)),
        ("", "PLAIN", 0, ("LocalDpMod",)),  # the training has no noise
        ("OWN", "", 0, ()),  # derived from Flower's mod: it may do anything
        ("PLAIN, passes", "", 1, ("LocalDpMod",)),
        ("passes, PLAIN", "", 0, ("LocalDpMod",)),  # changes what has noise already
    ],
)
def test_noise_is_known_of_flowers_own_mod_for_training_alone(
    tmp_path, train, evaluate, n_channels, protections
):
    client = [
        ("app = ClientApp()\n", MODS),
        ("@app.train()", f"@app.train(mods=[{train}])"),
        ("@app.evaluate()", f"@app.evaluate(mods=[{evaluate}])"),
    ]
    found = describe(copy_app(tmp_path, client=client))
    assert not isinstance(found, str), found
    assert (len(found.channels), found.protections) == (n_channels, protections)


@pytest.mark.parametrize(
    ("server", "config", "n_messages"),
    [
        ([], {}, 3),
        ([], {"num-server-rounds": 20}, 20),
        ([('num_rounds=run["num-server-rounds"]', "num_rounds=7")], {"num-server-rounds": 1}, 7),
    ],
)
def test_messages_that_the_server_sends_are_counted(tmp_path, server, config, n_messages):
    found = describe(copy_app(tmp_path, server=server), run_config=tuple(config.items()))
    assert found.n_messages == n_messages


def test_the_label_of_one_logit_is_found_without_words_of_a_bias(tmp_path):
    path = checked_path(one_logit(tmp_path)[0])
    assert not isinstance(path, str), path
    assert path.labels[0] in (0, 1)


def test_a_label_that_noise_hides_is_not_blamed_on_a_bias(tmp_path):
    project, _ = one_logit(tmp_path)
    client = project / "flower_example" / "client_app.py"
    noisy = "ArrayRecord({k: v + torch.randn(v.shape) for k, v in net.state_dict().items()})"
    text = client.read_text().replace(ANSWER, noisy)
    client.write_text(f"import torch\n{text}")
    message = checked_path(project)
    assert "the client adds noise of its own, and rows are neither" in message
    assert "bias" not in message


def test_noise_of_the_client_is_no_reason_to_refuse(tmp_path):
    project, _ = noisy_update(10.0)(tmp_path)
    assert checked_path(project).own_noise


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["dropout", "noisy rows .3"])
def test_rows_that_vary_count_as_noise(tmp_path, name):
    project, _ = VARIANTS[name](tmp_path)
    assert checked_path(project).own_noise


def test_noise_of_the_servers_own_strategy_is_named(tmp_path):
    project, config = VARIANTS["fixed clipping"](tmp_path)
    found = describe(project, run_config=tuple(config.items()))
    (note,) = found.notes
    assert note.startswith("DifferentialPrivacyClientSideFixedClipping: its noise is added by the server")


def test_secure_aggregation_is_refused_by_name(tmp_path):
    mod = "from flwr.client.mod import secaggplus_mod\n\napp = ClientApp(mods=[secaggplus_mod])\n"
    message = describe(copy_app(tmp_path, client=[("app = ClientApp()\n", mod)]))
    assert message.startswith("secaggplus_mod: with secure aggregation a server sees only sums of updates")


def test_opacus_of_another_test_is_not_taken_for_the_apps(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus", ModuleType("opacus"))
    assert describe(copy_app(tmp_path)).protections == ()


@pytest.mark.nightly
def test_mods_and_workers_are_named(tmp_path):
    project, _ = VARIANTS["local dp 8"](tmp_path)
    assert describe(project).protections == ("LocalDpMod",)
    workers, _ = VARIANTS["worker processes"](tmp_path / "other")
    assert describe(workers).notes == (
        "the app's loader has 2 worker processes; here the client loads rows itself",
    )


@pytest.mark.nightly
def test_first_message_is_that_of_the_apps_server(tmp_path):
    lr = ('ConfigRecord({"lr": run["learning-rate"]})', 'ConfigRecord({"lr": 0.5, "seen": 7})')
    checks = "assert (lr, msg.content['config']['seen'], len(msg.content.array_records)) == (0.5, 7, 1)"
    read = '    lr = msg.content["config"]["lr"]\n'
    use = (read, f"{read}    {checks}\n")
    project = copy_app(tmp_path, server=[lr], client=[use])
    assert describe(project).n_rows == (48,) * 4


LOADED = "    return DataLoader(parts[0], "
DOWNLOAD = "    from urllib.request import urlopen\n    urlopen('http://images.example.org/mnist')\n"
STREAM = """    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(parts[0])
    return DataLoader(Stream()), None
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            (
                LOADED,
                DOWNLOAD + LOADED,
            ),
            "the client asked the network for images.example.org, and an audit has no network access.*inject",
        ),
        ((LOADED, STREAM + LOADED), "returned an IterableDataset, whose rows have no places; write inject"),
        (
            (LOADED, "    return images(partition_id).tensors\n" + LOADED),
            "returned Tensor, Tensor, and no DataLoader.*inject",
        ),
        (
            ("manual_seed(1_000 + partition_id)", "manual_seed(1_000)"),
            "gave the same rows for partition 0 and 1",
        ),
    ],
)
def test_data_that_cannot_be_replaced_are_refused(tmp_path, change, said):
    message = describe(copy_app(tmp_path, task=[change]))
    assert re.search(said, str(message)), message


INJECT = """
from flower_example.task import images
from torch.utils.data import DataLoader


def rows_for(rows, partition_id, num_partitions, batch_size):
    if rows is None:
        return images(partition_id)
    return DataLoader(rows, batch_size=batch_size, shuffle=True), None
"""


def test_injected_rows_replace_the_apps_function(tmp_path):
    project = copy_app(tmp_path, task=[(LOADED, "    raise OSError('no data here')\n" + LOADED)])
    (tmp_path / "mine.py").write_text(INJECT)
    assert not checked_path(project, inject="mine:rows_for").own_noise


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"data_hook": "task:load"}, "flower_example.task has no 'load'; check the spelling"),
        ({"data_hook": "data:load"}, "there is no data.py in .* or in its package flower_example"),
        ({"data_hook": "load_data"}, 'must be written "module:name"'),
        ({"inject": "mine:rows_for"}, "challenger.inject: there is no mine.py"),
        ({"run_config": (("epochs", 3),)}, "Key 'epochs' is not present"),
    ],
)
def test_wrong_names_are_refused(tmp_path, said, message):
    found = describe(copy_app(tmp_path), **said)
    assert re.search(message, str(found)), found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('clientapp = "flower_example.client_app:app"\n', ""), 'Property "clientapp" missing'),
        (("client_app:app", "client_app:train"), "must be a ClientApp, got function"),
        (("client_app:app", "client:app"), "importing flower_example.client:app raised ModuleNotFoundError"),
    ],
)
def test_projects_without_a_client_are_refused(tmp_path, change, message):
    found = describe(copy_app(tmp_path, config=[change]))
    assert re.search(message, str(found)), found
