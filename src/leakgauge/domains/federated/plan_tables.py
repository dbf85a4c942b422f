"""The `data`, `challenger` and `mechanism` tables of a plan about federated clients."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism
from leakgauge.core.guarantee import Relation
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.data import dataset
from leakgauge.domains.federated.own_perturbation import OwnPerturbationTable, load_own_perturbation
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise, adds_real_noise
from leakgauge.mechanisms._feature_noise import DEFAULT_BOUND, FeatureNoise, row_sensitivity
from leakgauge.mechanisms._local_reports import reports_categories
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.tabular import TextFormat
from leakgauge.support.target_choice import TargetChoice, expand_targets
from leakgauge.theory.stated_promise import StatedPromise

FEATURE_METHODS: dict[str, type[dataset.PcaFeaturizer] | type[dataset.RandomReluFeaturizer]] = {
    "pca": dataset.PcaFeaturizer,
    "random_relu": dataset.RandomReluFeaturizer,
}


@dataclass(frozen=True, kw_only=True)
class FileKeys:
    """Names in a file of the rows, their labels, and the flags of rows that a model was trained on."""

    rows: str | None = None
    labels: str = "label"
    train: str | None = None


@dataclass(frozen=True, kw_only=True)
class FederatedFileTable(TextFormat):
    """A file of embeddings or images: which of its columns are features, or how features are computed.

    ``features`` is a list of columns, or one of ``FEATURE_METHODS``; ``size`` is the longest side of images.
    ``reference`` is a second file of the same form with the attacker's rows; without it they are drawn.
    """

    source: str
    reference: str | None = None
    keys: FileKeys = FileKeys()
    features: str | tuple[str, ...] | None = None
    dimensions: int | None = None
    size: int = 64
    scale: float = 1.0
    non_negative: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            require_known(self.features, list(FEATURE_METHODS), "features: no way to make them")
        if self.features == ():
            raise BadInput("features: the list is empty; name columns, or leave it out for all numbers")
        if self.dimensions is not None and not self.dimensions >= 1:
            raise BadInput(f"dimensions must be >= 1, got {self.dimensions}")
        if not self.size >= 1:
            raise BadInput(f"size must be >= 1 pixel, got {self.size}")
        require_scale(self.scale)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns named as features; empty if all numeric columns are used or features are computed."""
        return self.features if isinstance(self.features, tuple) else ()

    def featurizer(self, *, images: bool) -> dataset.Featurizer:
        """Return how features are computed; images always need a method."""
        if isinstance(self.features, str):
            method: type[dataset.PcaFeaturizer] | type[dataset.RandomReluFeaturizer] = FEATURE_METHODS[
                self.features
            ]
        elif images:
            method = dataset.PcaFeaturizer
        elif self.dimensions is not None:
            raise BadInput(
                f"data.dimensions = {self.dimensions}: the file's own columns are the features; leave it "
                f"out, or name a method: features = {' or '.join(map(repr, FEATURE_METHODS))}"
            )
        else:
            return dataset.IdentityFeaturizer()
        if images and self.columns:
            raise BadInput('data.features: images have no columns; use "pca" or "random_relu"')
        return method() if self.dimensions is None else method(self.dimensions)


NO_NOISE, OWN = "none", "own"
DEFAULT_TARGETS = TargetChoice(n=20)
MOST_VALUES = 10**9  # of generated rows


def mechanism_lines() -> dict[str, str | None]:
    """Name the mechanisms of a plan, with a line where a mechanism has no file of its own."""
    names = mechanism_names(lambda kind: perturbs_rows(kind) or adds_real_noise(kind))
    return {
        **dict.fromkeys(names),
        NO_NOISE: "No noise: clients train on their rows as they are.",
        OWN: 'Your own perturbation: sample = "module:function", from rows and a generator to rows.',
    }


def perturbs_rows(kind: type) -> bool:
    """Whether a class of mechanisms is for rows: of a number of ``features``, or of numbers in a range."""
    return counts_features(kind) or hasattr(kind, "require_range")


def counts_features(kind: type) -> bool:
    """Whether the noise depends on the number of ``features``."""
    return "features" in vars(kind).get("__dataclass_fields__", {})


@dataclass(frozen=True, kw_only=True)
class FederatedChallengerTable:
    """The clients' training, what reaches the server, and the promise that is judged.

    Every target has a client of its own in each round; ``clients`` is how many send their gradients
    together, averaged. The model is sent ``iterations`` times, and a member is in a share ``present`` of the
    batches. ``promise`` is judged by the "label" of the noise on rows, by its "exact" epsilon, or by a claim
    in numbers. Clients run in this process, or in Flower's simulation, where they may run your own
    ``client_app``.
    """

    targets: TargetChoice = DEFAULT_TARGETS
    batch: int = 100
    clients: int = 1
    reference: float | int = 0.5
    neurons: int = 64
    chosen: int = 1
    gradient_noise: GradientNoise | None = None
    iterations: int = 1
    present: float = 1.0
    promise: Literal["label", "exact"] | StatedPromise = "label"
    utility: bool = False

    def __post_init__(self) -> None:
        if not self.batch >= 2:
            raise BadInput(
                f"batch must be >= 2, got {self.batch}: a gradient of one row shows that row, and "
                "there is nothing to infer"
            )
        for name in ("clients", "iterations", "neurons", "chosen"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.chosen > self.neurons:
            raise BadInput(f"chosen = {self.chosen} exceeds neurons = {self.neurons}; lower it")
        if not 0 < self.present <= 1:
            raise BadInput(f"present must be in (0, 1], got {self.present}")
        if self.iterations > 1 and self.gradient_noise is None:
            raise BadInput(
                "iterations > 1 are for averaging noise on gradients; add gradient_noise, or leave "
                "iterations out"
            )


def read_challenger_table(table: Mapping[str, Any]) -> FederatedChallengerTable:
    """Read the challenger's table; ``targets = 5`` is short for ``targets = { n = 5 }``."""
    return read_dataclass(FederatedChallengerTable, expand_targets(table), "challenger")


def read_mechanism_table(table: Mapping[str, Any], features: int, folder: Path = Path()) -> Mechanism | None:
    """Build the noise that clients add to each row of ``features``; None for the name "none".

    A perturbation of one's own is loaded from the ``folder`` of the plan.
    """
    parameters, names = dict(table), list(mechanism_lines())
    if "name" not in parameters:
        raise BadInput(f"mechanism: 'name' is missing; one of {', '.join(names)}")
    name = parameters.pop("name")
    if name not in names and name in mechanism_names(adds_noise):
        raise BadInput(
            f"mechanism {name!r}: adds whole numbers, and features are real numbers, which such noise does "
            f"not hide; use one of {', '.join(mechanism_names(adds_real_noise))}"
        )
    if name not in names and name in mechanism_names(reports_categories):
        raise BadInput(
            f"mechanism {name!r}: reports categories, and features are real numbers; use one of "
            f'{", ".join(names)}, or audit the reports themselves (domain = "blackbox")'
        )
    require_known(name, names, "mechanism: none")
    if name == OWN:
        return load_own_perturbation(
            read_dataclass(OwnPerturbationTable, parameters, "mechanism 'own'"), folder
        )
    if name == NO_NOISE:
        for key in parameters:
            raise BadInput(f"mechanism 'none': {key} has no effect; leave it out")
        return None
    for key, way_out in {
        "features": "they follow from the data; leave it out",
        "relation": "a member takes the place of another row; leave it out",
        "unit": "the game is about a record; leave it out",
        "reports": "a client perturbs a row anew for each model; leave it out",
        "memoised": "a client perturbs a row anew for each model; leave it out",
    }.items():
        if key in parameters:
            raise BadInput(f"mechanism {name!r}: {key} cannot be set: {way_out}")
    kind = mechanism_class(name)
    if perturbs_rows(kind):
        if counts_features(kind):
            parameters["features"] = features
        noise: Mechanism = read_dataclass(kind, parameters, f"mechanism {name!r}")
        return noise
    return _feature_noise(kind, parameters, features, f"mechanism {name!r}")


@dataclass(frozen=True, kw_only=True)
class ClippingTable:
    """Parameters of additive noise on features besides those of the noise itself."""

    bound: float = DEFAULT_BOUND
    saturate: bool = False


def _feature_noise(kind: Any, parameters: dict[str, Any], features: int, where: str) -> FeatureNoise:
    """Clip features and scale additive noise to the two rows that are farthest apart."""
    if "sensitivity" in parameters:
        raise BadInput(f"{where}: sensitivity follows from the bound and the data; leave it out")
    clipping = read_dataclass(
        ClippingTable,
        {key: parameters.pop(key) for key in ("bound", "saturate") if key in parameters},
        where,
    )
    sensitivity = row_sensitivity(kind.norm, features, clipping.bound)
    own = {**parameters, "sensitivity": sensitivity, "relation": Relation.REPLACE_ONE.value}
    noise = read_dataclass(kind, own, where)
    return FeatureNoise(noise=noise, features=features, bound=clipping.bound, saturate=clipping.saturate)


@dataclass(frozen=True, kw_only=True)
class FederatedSyntheticTable:
    """Rows of a Gaussian mixture with one component per class.

    Feature j (from 0) has mean 0 and standard deviation 8.4 (1 + j / 5)^-0.57, and the share
    0.55 / (1 + j / 2) of its variance lies between the classes. Both were fitted to 512 principal components
    of a convolutional network's features of CIFAR-10.
    """

    rows: int = 4_000
    features: int = dataset.DEFAULT_DIMENSIONS
    classes: int = 10
    scale: float = 1.0
    non_negative: bool = False

    def __post_init__(self) -> None:
        for name, least in (("rows", 4), ("features", 1), ("classes", 2)):
            if not getattr(self, name) >= least:
                raise BadInput(f"{name} must be >= {least}, got {getattr(self, name)}")
        if not self.rows * self.features <= MOST_VALUES:
            raise BadInput(
                f"{self.rows} rows of {self.features} features are more than {MOST_VALUES} values; lower one"
            )
        if not self.classes <= self.rows:
            raise BadInput(f"classes = {self.classes} exceeds rows = {self.rows}; every class needs a row")
        require_scale(self.scale)


def require_scale(scale: float) -> None:
    """Refuse a factor that is not positive and finite."""
    if not 0 < scale < np.inf:
        raise BadInput(f"scale must be > 0 and finite, got {scale}; 1 leaves values as they are")


@dataclass(frozen=True, kw_only=True)
class FederatedKnowledgeTable:
    """No parameters; the challenger's `reference` sets how many rows the server has."""
