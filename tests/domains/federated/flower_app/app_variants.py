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
        "Clipping(strategy, noise_multiplier=0.1, num_sampled_clients=5, initial_clipping_norm=0.05)",
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


LOSS = '"train_loss": loss, '  # of a reply, which shows whether the target is there, whatever the weights say


def local_dp(epsilon, field=""):
    """Local noise on the weights, a field of the reply in place of the loss; own images are not evaluated."""

    def make(folder):
        protected = [("\napp = ClientApp()\n", LOCAL_DP.format(epsilon=epsilon)), (LOSS, field)]
        return copy_app(folder, client=[*protected, ("@app.evaluate()\n", "")]), {}

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
                (LOSS, ""),
            ],
        ), {}

    return make


PARTS = """from opacus.utils.batch_memory_manager import BatchMemoryManager

    with BatchMemoryManager(data_loader=trainloader, max_physical_batch_size=8, optimizer=optimizer) as parts:
        loss = train_fn(net, parts, run["local-epochs"], optimizer)
"""


def opacus_poisson(folder):
    project, config = opacus(0.5)(folder)
    _replace(project / PACKAGE / "client_app.py", [("        poisson_sampling=False,\n", "")])
    return project, config


def opacus_replacement(folder):
    project, config = opacus(0.5)(folder)
    sampler = "sampler=torch.utils.data.RandomSampler(parts[0], replacement=True))"
    _replace(project / PACKAGE / "task.py", [("shuffle=True)", sampler)])
    return project, config


def opacus_in_parts(folder):
    project, config = opacus(0.5)(folder)
    whole = '    loss = train_fn(net, trainloader, run["local-epochs"], optimizer)\n'
    _replace(project / PACKAGE / "client_app.py", [(whole, f"    {PARTS}")])
    return project, config


GHOST = """    from opacus import PrivacyEngine

    net, optimizer, criterion, trainloader = PrivacyEngine().make_private(
        module=net,
        optimizer=optimizer,
        criterion=torch.nn.CrossEntropyLoss(),
        data_loader=trainloader,
        noise_multiplier=0.5,
        max_grad_norm=1.0,
        poisson_sampling=False,
        grad_sample_mode="ghost",
    )
"""


def opacus_ghost(folder):
    """Gradients of examples are clipped by their norms alone, and never stored."""
    return copy_app(
        folder,
        task=[
            ("    net.train()\n", f"{GHOST}    net.train()\n"),
            (
                "functional.cross_entropy(net(images), labels)\n            loss.backward()",
                "criterion(net(images), labels)\n            loss.backward()",
            ),
        ],
    ), {}


KEPT_ROWS = """loaded, _ = loaders(context)
    pixels, labels = (torch.stack(part) for part in zip(*loaded.dataset))
    trainloader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(pixels, labels), batch_size=16, shuffle=True
    )
"""
READ_ROWS = "trainloader, _ = loaders(context)\n"
IMPORTED = ("from flwr.clientapp import ClientApp\n", "import torch\nfrom flwr.clientapp import ClientApp\n")


def kept_rows(folder):
    return copy_app(folder, client=[(READ_ROWS, KEPT_ROWS), IMPORTED]), {}


def opacus_kept_rows(folder):
    """All rows are read once, into tensors, and a loader of the app's own shuffles these."""
    project, config = opacus(0.5)(folder)
    _replace(project / PACKAGE / "client_app.py", [(READ_ROWS, KEPT_ROWS), IMPORTED])
    return project, config


def opacus_kept_rows_poisson(folder):
    """The same; Opacus draws batches from the kept rows."""
    project, config = opacus_kept_rows(folder)
    _replace(project / PACKAGE / "client_app.py", [("        poisson_sampling=False,\n", "")])
    return project, config


def opacus_in_loop(batches, *, poisson=False, noise=0.5, config=()):
    """Other batches than those that the loader gives: ``batches`` is what the loop of training goes over."""

    def make(folder):
        project, _ = (opacus_poisson if poisson else opacus(noise))(folder)
        loop = "    for _ in range(epochs):\n        for images, labels in trainloader:\n"
        _replace(project / PACKAGE / "task.py", [(loop, batches)])
        return project, dict(config)

    return make


WHOLE_BATCHES = (("batch-size", 48), ("local-epochs", 36))
KEPT_BATCHES = """    kept = list(trainloader)
    for _ in range(epochs):
        for images, labels in kept:
"""
KEPT_AFTER_THE_FIRST_EPOCH = """    kept = []
    for epoch in range(epochs):
        for images, labels in kept if epoch else trainloader:
            if not epoch:
                kept.append((images, labels))
"""
ONE_BATCH = """    kept = next(iter(trainloader))
    for _ in range(6):
        for images, labels in [kept]:
"""
REPLAYED = """    kept = []
    for _ in range(epochs):
        for read in trainloader:
            kept.extend(zip(*read))
            chosen = torch.randint(len(kept), (len(read[1]),)).tolist()
            images, labels = (torch.stack(part) for part in zip(*[kept[number] for number in chosen]))
"""
SCALED = """    for _ in range(epochs):
        for images, labels in trainloader:
            images = 2 * images - 1
"""
SCALED_AND_KEPT = """    kept = [(2 * images - 1, labels) for images, labels in trainloader]
    for _ in range(epochs):
        for images, labels in kept:
"""
MIXED = """    for _ in range(epochs):
        for images, labels in trainloader:
            images = 0.7 * images + 0.3 * images.roll(1, 0)
"""


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


PROTECTED = """
import torch


def protected(sent, trained):
    update = {name: torch.nan_to_num(trained[name] - sent[name]) for name in sent}
    norm = sum(float((part.double() ** 2).sum()) for part in update.values()) ** 0.5
    share = min(1.0, BOUND / max(norm, 1e-30))
    return {k: sent[k] + share * part + NOISE * torch.randn(part.shape) for k, part in update.items()}


app = ClientApp()
"""


def clipped_noisy_update(bound, noise):
    """A client whose whole update has at most this norm before noise is added, whatever it is sent."""
    function = PROTECTED.replace("BOUND", str(bound)).replace("NOISE", str(noise))
    sent = 'msg.content["arrays"].to_torch_state_dict()'

    def make(folder):
        return copy_app(
            folder,
            client=[
                ("\napp = ClientApp()\n", function),
                ("(net.state_dict())", f"(protected({sent}, net.state_dict()))"),
            ],
        ), {}

    return make


LEGACY_CLIENT = """
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp

from flower_example.task import Net, load_data, make_optimizer, train
import torch


class Client(NumPyClient):
    def __init__(self, loader, run):
        self.net, self.loader, self.run = Net(), loader, run

    def get_parameters(self, config):
        return [value.numpy() for value in self.net.state_dict().values()]

    def fit(self, parameters, config):
        names = self.net.state_dict()
        self.net.load_state_dict({name: torch.tensor(array) for name, array in zip(names, parameters)})
        optimizer = make_optimizer(self.net, "sgd", config["lr"], 0.0, 0.0)
        train(self.net, self.loader, self.run["local-epochs"], optimizer)
        return self.get_parameters({}), len(self.loader.dataset), {}


def client_fn(context):
    node, run = context.node_config, context.run_config
    loader, _ = load_data(node["partition-id"], node["num-partitions"], run["batch-size"])
    return Client(loader, run).to_client()


app = ClientApp(client_fn)
"""
LEGACY_SERVER = """
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg


def server_fn(context):
    strategy = FedAvg(on_fit_config_fn=lambda number: {"lr": context.run_config["learning-rate"]})
    return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=1))


app = ServerApp(server_fn=server_fn)
"""
NOISY_ROWS = """

class Noisy(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        pixels, label = self.rows[i]
        return pixels + torch.distributions.Laplace(0.0, SCALE).sample(pixels.shape), label


def load_data("""


def legacy(folder):
    project = copy_app(folder)
    (project / PACKAGE / "client_app.py").write_text(LEGACY_CLIENT)
    (project / PACKAGE / "server_app.py").write_text(LEGACY_SERVER)
    return project, {}


def batch_norm(folder):
    return copy_app(
        folder,
        task=[
            ("        self.fc1 =", "        self.norm = nn.BatchNorm2d(8)\n        self.fc1 ="),
            ("functional.relu(self.conv2(x))", "functional.relu(self.norm(self.conv2(x)))"),
        ],
    ), {}


def dropout(folder):
    return copy_app(
        folder,
        task=[
            (".flatten(1)", ".flatten(1)\n        x = functional.dropout(x, 0.1, self.training)"),
            (
                "relu(self.fc1(x))",
                "relu(self.fc1(x))\n        x = functional.dropout(x, 0.25, self.training)",
            ),
        ],
    ), {}


def two_layers(folder):
    return copy_app(
        folder,
        task=[
            ("        self.fc2 = nn.Linear(64, 32)\n", ""),
            ("nn.Linear(32, CLASSES)", "nn.Linear(64, CLASSES)"),
            ("        x = functional.relu(self.fc2(x))\n", ""),
        ],
    ), {}


def gelu(folder):
    smooth = [(f"functional.relu(self.fc{n}(x))", f"functional.gelu(self.fc{n}(x))") for n in (1, 2)]
    return copy_app(folder, task=smooth), {}


def norm_behind(folder):
    """A ReLU and a LayerNorm behind the second linear layer, so that no three of them are a stack."""
    return copy_app(
        folder,
        task=[
            ("        self.fc3 =", "        self.norm = nn.LayerNorm(32)\n        self.fc3 ="),
            ("self.fc3(x)", "self.fc3(self.norm(x))"),
        ],
    ), {}


def tanh_behind(folder):
    return copy_app(folder, task=[("functional.relu(self.fc2(x))", "torch.tanh(self.fc2(x))")]), {}


HIDDEN = "        x = functional.relu(self.fc1(x))\n        x = functional.relu(self.fc2(x))\n"
RESIDUAL = """        x = self.fc1(x)
        x = x + self.inner(functional.relu(self.outer(x)))
        return self.fc3(x)
"""


def residual(folder):
    """Two linear layers with a way around them, and one linear layer at the end."""
    return copy_app(
        folder,
        task=[
            ("self.fc2 = nn.Linear(64, 32)", "self.outer, self.inner = nn.Linear(64, 32), nn.Linear(32, 64)"),
            ("nn.Linear(32, CLASSES)", "nn.Linear(64, CLASSES)"),
            (
                f"{HIDDEN}        return self.fc3(x)\n",
                RESIDUAL,
            ),
        ],
    ), {}


TRANSFORMER = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, 32, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, 32))
        self.positions = nn.Parameter(0.1 * torch.randn(1, 10, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, nn.LayerNorm(32), enable_nested_tensor=False)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.blocks(x)[:, 0])


def images("""


def transformer(folder):
    """A small vision transformer: linear layers in its blocks, and one at its end for the first token."""
    return copy_app(folder, task=[("def images(", TRANSFORMER)]), {}


def one_linear_layer(folder):
    """Convolutions and one linear layer."""
    return copy_app(
        folder,
        task=[
            ("        self.fc1 = nn.Linear(8 * 3 * 3, 64)\n        self.fc2 = nn.Linear(64, 32)\n", ""),
            ("nn.Linear(32, CLASSES)", "nn.Linear(72, CLASSES)"),
            (HIDDEN, ""),
        ],
    ), {}


def worker_processes(folder):
    return copy_app(
        folder, task=[("shuffle=True)", "shuffle=True, num_workers=2, persistent_workers=True)")]
    ), {}


def client_state(folder):
    kept = '    context.state["rounds"] = MetricRecord({"n": 1})\n'
    return copy_app(folder, client=[("    net, run = Net()", f"{kept}    net, run = Net()")]), {}


def opacus_epsilon(folder, accountant="prv"):
    """The engine's own epsilon in the reply, and random batches, as in Flower's example with Opacus."""
    project, config = opacus_poisson(folder)
    engine = [
        ("    net, optimizer", f"    engine = PrivacyEngine(accountant={accountant!r})\n    net, optimizer"),
        ("= PrivacyEngine().make", "= engine.make"),
        ('"num-examples"', '"epsilon": engine.get_epsilon(1e-5), "num-examples"'),
    ]
    _replace(project / PACKAGE / "client_app.py", engine)
    return project, config


STANDARDISED = """loaded, _ = loaders(context)
    pixels, labels = (torch.stack(part) for part in zip(*loaded.dataset))
    pixels = (pixels - pixels.mean(0)) / pixels.std(0)
    trainloader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(pixels, labels), batch_size=16, shuffle=True
    )
"""


def standardised(folder):
    """Rows are standardised by the mean and deviation of the client's own."""
    return copy_app(folder, client=[(READ_ROWS, STANDARDISED), IMPORTED]), {}


SEEDED = """    torch.manual_seed(msg.content["config"]["server-round"])
    content ="""


def noise_by_round(folder):
    """A whole update that is clipped, with noise that the number of Flower's round seeds."""
    project, config = clipped_noisy_update(1.0, 5.0)(folder)
    _replace(project / PACKAGE / "client_app.py", [("    content =", SEEDED), (LOSS, "")])
    return project, config


def one_logit(folder):
    """Two classes and one output; rows have labels as numbers with a decimal point."""
    loss = "binary_cross_entropy_with_logits(net(images)[:, 0], labels)"
    return copy_app(
        folder,
        task=[
            ("nn.Linear(32, CLASSES)", "nn.Linear(32, 1)"),
            ("cross_entropy(net(images), labels)", loss),
            ("(pixels - 0.6) / 0.4, labels)", "(pixels - 0.6) / 0.4, (labels > 1).float())"),
        ],
    ), {}


def noisy_rows(scale):
    def make(folder):
        return copy_app(
            folder,
            task=[
                ("\ndef load_data(", NOISY_ROWS.replace("SCALE", str(scale))),
                ("DataLoader(parts[0],", "DataLoader(Noisy(parts[0]),"),
            ],
        ), {}

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
    "opacus poisson": opacus_poisson,
    "opacus in parts": opacus_in_parts,
    "opacus replacement": opacus_replacement,
    "opacus ghost": opacus_ghost,
    "opacus kept rows": opacus_kept_rows,
    "opacus kept rows poisson": opacus_kept_rows_poisson,
    "opacus kept batches": opacus_in_loop(KEPT_BATCHES),
    "opacus kept after the first epoch": opacus_in_loop(KEPT_AFTER_THE_FIRST_EPOCH),
    "opacus kept after the first epoch poisson": opacus_in_loop(KEPT_AFTER_THE_FIRST_EPOCH, poisson=True),
    "opacus 2 kept batches": opacus_in_loop(KEPT_BATCHES, noise=2.0, config=WHOLE_BATCHES),
    "opacus one batch": opacus_in_loop(ONE_BATCH),
    "opacus replayed": opacus_in_loop(REPLAYED),
    "opacus scaled": opacus_in_loop(SCALED),
    "opacus scaled and kept": opacus_in_loop(SCALED_AND_KEPT),
    "opacus mixed": opacus_in_loop(MIXED),
    "legacy": legacy,
    "batch norm": batch_norm,
    "dropout": dropout,
    "two layers": two_layers,
    "gelu": gelu,
    "norm behind": norm_behind,
    "tanh behind": tanh_behind,
    "residual": residual,
    "transformer": transformer,
    "one linear layer": one_linear_layer,
    "worker processes": worker_processes,
    "client state": client_state,
    "kept rows": kept_rows,
    "noisy rows .3": noisy_rows(0.3),
    "noisy rows .5": noisy_rows(0.5),
}
