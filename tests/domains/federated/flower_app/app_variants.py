"""Copies of the example app with other clients, models and mods, as teams have them."""

from pathlib import Path
from shutil import copytree

EXAMPLE = Path(__file__).parents[4] / "examples" / "flower-app"
PACKAGE = "flower_example"

LOCAL_DP = """
from flwr.clientapp.mod import LocalDpMod

app = ClientApp(mods=[LocalDpMod(1.0, 1.0, {epsilon}, 1e-5)])
"""
CLIPPED = """
from flwr.clientapp.mod import {kind}clipping_mod

app = ClientApp(mods=[{kind}clipping_mod])
"""
CLIPPING_SERVER = {
    "fixed": (
        "from flwr.serverapp.strategy import DifferentialPrivacyClientSideFixedClipping as Clipping",
        "Clipping(strategy, noise_multiplier=0.1, clipping_norm=0.05, num_sampled_clients=5)",
    ),
    "adaptive": (
        "from flwr.serverapp.strategy import DifferentialPrivacyClientSideAdaptiveClipping as Clipping",
        "Clipping(strategy, noise_multiplier=1.0, num_sampled_clients=5, initial_clipping_norm=0.05)",
    ),
}
PRIVATE = """
    from opacus import PrivacyEngine

    net, optimizer, trainloader = PrivacyEngine().make_private(
        module=net,
        optimizer=optimizer,
        data_loader=trainloader,
        noise_multiplier={noise},
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    loss = train_fn("""


def copy_app(folder, *, client=(), task=(), server=(), config=()):
    """Copy the example app, with pairs of texts replaced in its files; return its folder."""
    project = folder / "project"
    copytree(EXAMPLE, project, ignore=lambda *_: {"__pycache__", "plan.toml"})
    for name, pairs in (("client_app", client), ("task", task), ("server_app", server)):
        _replace(project / PACKAGE / f"{name}.py", pairs)
    _replace(project / "pyproject.toml", config)
    return project


def _replace(path, pairs):
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text)


def plain(folder):
    return copy_app(folder), {}


def momentum(folder):
    return copy_app(folder), {"momentum": 0.9, "learning-rate": 0.02}


def weight_decay(folder):
    return copy_app(folder), {"weight-decay": 0.01}


def adamw(folder):
    return copy_app(folder), {"optimizer": "adamw", "learning-rate": 0.001, "weight-decay": 0.01}


def local_dp(epsilon):
    def make(folder):
        return copy_app(folder, client=[("\napp = ClientApp()\n", LOCAL_DP.format(epsilon=epsilon))]), {}

    return make


def clipping(kind):
    imported, wrapped = CLIPPING_SERVER[kind]

    def make(folder):
        return copy_app(
            folder,
            client=[("\napp = ClientApp()\n", CLIPPED.format(kind=kind))],
            server=[
                ("from flower_example", f"{imported}\n\nfrom flower_example"),
                ("    strategy.start(", f"    strategy = {wrapped}\n    strategy.start("),
            ],
        ), {"fraction-train": 1.0}

    return make


def opacus(noise):
    def make(folder):
        return copy_app(
            folder,
            client=[
                ("\n    loss = train_fn(", PRIVATE.format(noise=noise)),
                ("ArrayRecord(net.state_dict())", "ArrayRecord(net._module.state_dict())"),
            ],
        ), {}

    return make


def noisy_update(noise):
    added = (
        "(net.state_dict())",
        f"({{k: v + {noise} * torch.randn(v.shape) for k, v in net.state_dict().items()}})",
    )

    def make(folder):
        imported = (
            "from flwr.clientapp import ClientApp\n",
            "from flwr.clientapp import ClientApp\nimport torch\n",
        )
        return copy_app(folder, client=[added, imported]), {}

    return make


VARIANTS = {
    "sgd": plain,
    "momentum": momentum,
    "weight decay": weight_decay,
    "adamw": adamw,
    "local dp 50": local_dp(50.0),
    "local dp 8": local_dp(8.0),
    "local dp 1": local_dp(1.0),
    "fixed clipping": clipping("fixed"),
    "adaptive clipping": clipping("adaptive"),
    "opacus .5": opacus(0.5),
    "opacus 2": opacus(2.0),
}
