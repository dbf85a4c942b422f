"""Apps that cannot be audited, from the command line: one line, exit code 2, and nothing is written."""

import json
import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from app_variants import (
    LOSS,
    VARIANTS,
    clipped_noisy_update,
    copy_app,
    local_dp,
    noise_by_round,
    opacus_epsilon,
    standardised,
)
from forked_app import ForkedPopen

from leakgauge.cli.main import main
from leakgauge.domains.federated.flower_app import client_process

PLAN = """
seed = 7
[[audit]]
name = "app"
domain = "federated"
rounds = 40
challenger = {{ app = "project", data_hook = "task:load_data", {said} }}
attacks = [{{ name = "planted_layers", games = 8 }}]
[limits]
accuracy = 0.6
"""
ANSWER = "ArrayRecord(net.state_dict())"
CLIPPED_AND_NOISY = """ArrayRecord({
        k: w + (net.state_dict()[k] - w).clamp(-0.001, 0.001) + 10.0 * torch.randn(w.shape)
        for k, w in msg.content["arrays"].to_torch_state_dict().items()
    })"""
LEARN = "    loss = train_fn("
LOADED = "    return DataLoader(parts[0], "
DOWNLOAD = "    from urllib.request import urlopen\n    urlopen('http://images.example.org/mnist')\n"
INJECT = """
from flower_example.task import images
from torch.utils.data import DataLoader


def rows_for(rows, partition_id, num_partitions, batch_size):
    if rows is None:
        return images(partition_id)
    return DataLoader(rows, batch_size=batch_size, shuffle=True), None
"""


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a plan about the project in tmp_path; return the exit code and what was said."""
    monkeypatch.setattr(client_process.subprocess, "Popen", ForkedPopen)

    def call(said="targets = 1"):
        client_process.client_process.cache_clear()
        (tmp_path / "plan.toml").write_text(PLAN.format(said=said))
        code = main(["run", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run")])
        client_process.client_process.cache_clear()
        return code, capsys.readouterr()

    return call


def refused(found, tmp_path, pattern):
    """Whether a run was refused in one line that says so, and nothing was written."""
    code, told = found
    assert code == 2
    assert len(told.err.strip().splitlines()) == 1, told.err
    assert re.search(pattern, told.err), told.err
    assert not (tmp_path / "run").exists()


class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "flwr":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_flower_that_is_not_installed(tmp_path, run, monkeypatch):
    copy_app(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "flwr"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Blocked(), *sys.meta_path])
    refused(run(), tmp_path, r"flwr is not installed; run: pip install 'leakgauge\[federated,ml\]'")


def test_client_that_hangs(tmp_path, run):
    """However slow the machine is, the answer is the same: a message is not answered within a second."""
    copy_app(tmp_path, client=[(LEARN, f"    import time; time.sleep(600)\n{LEARN}")])
    refused(run("targets = 1, timeout = 1"), tmp_path, "no answer to a message within 1 seconds; the client")


def test_project_without_a_client(tmp_path, run):
    copy_app(tmp_path, config=[('clientapp = "flower_example.client_app:app"\n', "")])
    refused(run(), tmp_path, 'Property "clientapp" missing')


def test_app_that_downloads(tmp_path, run):
    copy_app(tmp_path, task=[(LOADED, DOWNLOAD + LOADED)])
    refused(
        run(), tmp_path, r"asked the network for images\.example\.org.* no network access: .*write inject ="
    )


def test_claim_without_delta_about_gaussian_noise(tmp_path, run):
    VARIANTS["local dp 8"](tmp_path)
    refused(
        run("targets = 1, promise = { epsilon = 8.0 }"),
        tmp_path,
        "epsilon = 8 is stated without delta, and the Gaussian noise of LocalDpMod .* add delta = 1e-5",
    )


def test_target_outside_the_injected_partition(tmp_path, run):
    copy_app(tmp_path, task=[(LOADED, "    raise OSError('no data here')\n" + LOADED)])
    (tmp_path / "mine.py").write_text(INJECT)
    refused(
        run('inject = "mine:rows_for", targets = { names = [60] }'),
        tmp_path,
        "60 is outside the client's partition, which has the rows 0 to 59",
    )


def test_client_of_another_shape(tmp_path, run):
    copy_app(tmp_path, client=[(ANSWER, "ArrayRecord({k: v[:1] for k, v in net.state_dict().items()})")])
    refused(run(), tmp_path, r"the shape \(1, 1, 3, 3\) for 'conv1.weight'; \(4, 1, 3, 3\) was sent")


def test_noise_that_hides_the_control_leaves_the_promise_untestable(tmp_path, run):
    torch = ("from flwr.clientapp import ClientApp\n", "from flwr.clientapp import ClientApp\nimport torch\n")
    copy_app(tmp_path, client=[torch, (ANSWER, CLIPPED_AND_NOISY), (LOSS, "")])
    config = "run_config = { local-epochs = 1, batch-size = 48 }"
    code, told = run(f"targets = 1, {config}, promise = {{ epsilon = 1.0, delta = 1e-5 }}")
    (verdict,) = json.loads((tmp_path / "run" / "verdicts.json").read_text())["verdicts"]
    assert (code, verdict["finding"], verdict["risk"]["status"]) == (3, "untestable", "undecided")
    assert verdict["instrument"]["control"]["status"] != "passed"
    assert "the client adds noise of its own, which the positive control cannot leave out" in told.out


def verdict_of(tmp_path):
    (verdict,) = json.loads((tmp_path / "run" / "verdicts.json").read_text())["verdicts"]
    return verdict


PROMISE = "promise = { epsilon = 1.0, delta = 1e-5 }"
ONE_MESSAGE = "run_config = { num-server-rounds = 1 }"  # of the app's server, as in a round of the audit
CEILINGS = {"channel_ceiling"}


def test_a_loss_beside_noisy_weights_breaks_the_promise_by_name(tmp_path, run):
    """The weights keep the promise; the same reply holds the loss without noise."""
    local_dp(1.0, LOSS)(tmp_path)
    code, told = run(f"targets = 1, {PROMISE}")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["finding"], verdict["certain"]) == (1, "violated", True)
    assert [one.partition(" told")[0] for one in verdict["evidence"]] == ["In a reply, train_loss"]
    assert verdict["metrics"]["accuracy_own"]["value"] > 0.9  # the attack reads it, and says so
    assert verdict["event"] == "the field train_loss of a reply"
    assert "no attacker is right more than" not in told.out
    assert not CEILINGS & verdict["studied"].keys()


def test_a_loss_is_read_without_a_promise_too(tmp_path, run):
    local_dp(1.0, LOSS)(tmp_path)
    code, _ = run(f"targets = 1, {ONE_MESSAGE}")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["risk"]["status"], verdict["unread"]) == (1, "over", [])


def test_a_field_that_no_record_changes_counts_as_read(tmp_path, run):
    local_dp(1.0)(tmp_path)
    _, told = run(f"targets = 1, {PROMISE}, {ONE_MESSAGE}")
    verdict = verdict_of(tmp_path)
    assert (verdict["unread"], verdict["evidence"]) == ([], [])
    assert verdict["studied"].keys() >= CEILINGS
    assert "no attacker is right more than 58.2% of the time" in told.out


def test_fewer_messages_than_the_server_sends_clear_nobody(tmp_path, run):
    """The noise of one message is as large as the limit needs; three messages have less of it on average."""
    local_dp(0.1)(tmp_path)
    code, told = run("targets = 1")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["risk"]["status"]) == (3, "undecided")
    assert "not read: further messages (the app sends 3; audited in each round: iterations = 1)" in told.out
    assert "no attacker is right more than" not in told.out
    assert not CEILINGS & verdict["studied"].keys()


def test_a_noisy_field_is_named(tmp_path, run):
    local_dp(1.0, '"noisy_loss": loss + 1e6 * torch.randn(1).item(), ')(tmp_path)
    client = tmp_path / "project" / "flower_example" / "client_app.py"
    client.write_text(f"import torch\n{client.read_text()}")
    code, told = run(f"targets = 1, {PROMISE}, {ONE_MESSAGE}")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["unread"]) == (3, ["the field noisy_loss of a reply"])
    assert verdict["finding"] != "violated"
    assert "no attacker is right more than" not in told.out
    assert not CEILINGS & verdict["studied"].keys()


def test_noise_that_the_round_seeds_breaks_the_promise_by_name(tmp_path, run):
    noise_by_round(tmp_path)
    code, _ = run(f"targets = 1, {PROMISE}")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["finding"], verdict["certain"]) == (1, "violated", True)
    assert verdict["evidence"][0].startswith("The noise repeats: weights that no record moves change by the")


def test_noise_that_repeats_leaves_a_large_promise_undecided(tmp_path, run):
    """Too many games would be needed to be certain, but what was seen is no evidence for the promise."""
    noise_by_round(tmp_path)
    code, told = run("targets = 1, promise = { epsilon = 9.0, delta = 1e-5 }")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["about"]) == (1, "mechanism")  # 1: over the limit
    assert verdict["finding"] != "not_violated"
    assert "The noise repeats" in told.out


def test_a_client_that_standardises_its_rows_is_audited(tmp_path, run):
    standardised(tmp_path)
    code, told = run()
    assert (code, verdict_of(tmp_path)["risk"]["status"]) == (3, "undecided")
    assert "so that the audit does not see which is which" in told.out


@pytest.mark.nightly
def test_a_client_with_opacus_as_in_its_example_is_audited(tmp_path, run):
    """A control that random batches leave the target out of now and then is not failed for that."""
    opacus_epsilon(tmp_path, accountant="rdp")  # which is fast
    run(f"targets = 1, {PROMISE}, {ONE_MESSAGE}")
    verdict = verdict_of(tmp_path)
    assert verdict["instrument"]["control"]["status"] in ("passed", "not possible")
    assert verdict["finding"] != "untestable"
    held_out = {"the field eval_acc (evaluate) of a reply", "the field eval_loss (evaluate) of a reply"}
    assert ({*verdict["unread"]}, verdict["evidence"]) == (held_out, [])


def test_an_answer_to_another_message_is_read_too(tmp_path, run):
    """Evaluation on the training images: the weights have noise, and the loss of the model has none."""
    project, _ = clipped_noisy_update(1.0, 5.0)(tmp_path)
    client = project / "flower_example" / "client_app.py"
    text = client.read_text().replace(LOSS, "")
    assert "_, testloader = loaders(context)" in text
    client.write_text(text.replace("_, testloader = loaders(context)", "testloader, _ = loaders(context)"))
    code, _ = run()
    assert code == 3
    assert "the field eval_loss (evaluate) of a reply" in verdict_of(tmp_path)["unread"]


def test_one_array_without_noise_breaks_the_promise_by_name(tmp_path, run):
    project, _ = clipped_noisy_update(1.0, 5.0)(tmp_path)
    client = project / "flower_example" / "client_app.py"
    text = client.read_text().replace(LOSS, "")
    noise = "5.0 * torch.randn(part.shape)"
    assert noise in text
    client.write_text(text.replace(noise, f"(k != 'conv1.weight') * {noise}"))
    code, _ = run(f"targets = 1, {PROMISE}")
    verdict = verdict_of(tmp_path)
    assert (code, verdict["certain"]) == (1, True)
    assert verdict["evidence"][0].startswith("In a reply, conv1.weight told two clients apart")


ORDER = """ArrayRecord(dict(sorted(
        ((k, w + (net.state_dict()[k] - w).clamp(-0.001, 0.001) + 10.0 * torch.randn(w.shape))
        for k, w in msg.content["arrays"].to_torch_state_dict().items()),
        reverse=sum(int(label) for _, label in trainloader.dataset) % 2 == 1,
    )))"""


def test_the_order_of_arrays_is_read(tmp_path, run):
    """Names decide which array is which, in any order; the order itself depends on the labels."""
    torch = ("from flwr.clientapp import ClientApp\n", "from flwr.clientapp import ClientApp\nimport torch\n")
    copy_app(tmp_path, client=[torch, (ANSWER, ORDER), (LOSS, "")])
    code, _ = run()
    assert code == 3
    assert "the names, types and shapes of a reply" in verdict_of(tmp_path)["unread"]


BESIDE = """
@app.query("stats")
def stats(msg: Message, context: Context) -> Message:
    trainloader, _ = loaders(context)
    mean = float(sum(image.mean() for image, _ in trainloader.dataset))
    return Message(content=RecordDict({"metrics": MetricRecord({"mean": mean})}), reply_to=msg)
"""


def test_all_functions_of_a_client_and_what_it_loads_elsewhere_are_named(tmp_path, run):
    """A query with a name; records that another function loads; a field that one reply in twenty has."""
    field = '"raw": float(images(context.node_config["partition-id"])[0][0][0, 0, 0]), '
    local_dp(1.0, f'{field}**({{"rare": 1.0}} if random.random() < 0.1 else {{}}), ')(tmp_path)
    client = tmp_path / "project" / "flower_example" / "client_app.py"
    text = client.read_text() + BESIDE
    mod = "mods=[LocalDpMod(1.0, 1.0, 1.0, 1e-5)]"
    assert mod in text
    text = text.replace(mod, "").replace("@app.train()", f"@app.train({mod})")
    client.write_text(f"import random\nfrom flower_example.task import images\n{text}")
    code, told = run(f"targets = 1, {ONE_MESSAGE}")
    named = {f"the field {name} of a reply" for name in ("raw", "mean (query.stats)")}
    assert code == 3
    assert named <= {*verdict_of(tmp_path)["unread"]}
    assert "the field rare of a reply" in told.out or "the names, types and shapes" in told.out
    assert "no attacker is right more than" not in told.out
