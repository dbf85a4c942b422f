"""The user's own training code as a trainer: a function, a scikit-learn estimator, or a torch module.

Each model is reduced to what it says about all records, right after it was trained: that can be sent between
processes and cached on disk, whatever kind of object the model is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.recorded_model import RecordedModel, RowIndex, index_rows
from leakgauge.domains.models.training.checkpoints import CheckpointedModel, each_checkpoint
from leakgauge.domains.models.training.noise_calibration import TrainingMechanism
from leakgauge.domains.models.training.trainer import Classifier, Examples, require_no_noise
from leakgauge.domains.models.user_model import model_query
from leakgauge.domains.models.user_model.plan_tables import OutputKind, comparable_class
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.cache import cached_array
from leakgauge.support.global_rng import call_seeded
from leakgauge.support.progress import ProgressListener
from leakgauge.support.tabular_objects import content_digest, take_rows
from leakgauge.support.user_code import UserCodeLoader, error_with_location
from leakgauge.version import VERSION

TrainingCall: TypeAlias = Callable[[Any, Any, Generator], Any]  # (X, y, rng) -> a fitted model
TABLE_KEYS = ("module", "fit")
FORMS = (
    "a function fit(X, y, rng) that returns a model, an estimator with fit and predict_proba, or a function "
    "that makes a torch module together with one that trains it"
)


@dataclass(frozen=True)
class UserTraining:
    """Training code of the user: its name in messages, and a digest of the code where there is one."""

    name: str
    identity: str | None
    call: TrainingCall = field(compare=False, repr=False)


def load_training(spec: str | Mapping[str, Any], folder: Path, where: str) -> UserTraining:
    """Load what a plan names: "module:name", or { module = "module:make", fit = "module:train" }."""
    loader = UserCodeLoader(folder)
    if isinstance(spec, str):
        value: Any = loader.load(spec, where)
    else:
        if sorted(spec) != sorted(TABLE_KEYS) or not all(isinstance(one, str) for one in spec.values()):
            raise BadInput(
                f'{where}: must be "module:name", or a table of module (a function that makes a torch '
                f"module) and fit (a function that trains it), got the keys {sorted(spec)}"
            )
        value = tuple(loader.load(spec[key], f"{where}.{key}") for key in TABLE_KEYS)
    return training_of(value, where, name=str(spec), sources=loader.sources)


def training_of(
    value: Any, where: str, *, name: str | None = None, sources: Mapping[str, str] | None = None
) -> UserTraining:
    """Make a training of a function, an estimator, or a pair of functions for a torch module."""
    from leakgauge.support.code_identity import code_identity

    call = _training_call(value, where)
    shown = name or getattr(value, "__name__", type(value).__name__)
    return UserTraining(f"{where} = {shown!r}", code_identity(value, sources), call)


def _training_call(value: Any, where: str) -> TrainingCall:
    if isinstance(value, type):
        raise BadInput(f"{where}: this is the class {value.__name__}; give an instance of it, or {FORMS}")
    if isinstance(value, tuple) and len(value) == 2 and all(map(callable, value)):
        return _TorchTraining(*value)
    if model_query.is_torch_module(value):
        raise BadInput(
            f"{where}: this is a torch module ({type(value).__name__}), which does not say how it was "
            "trained; give a tuple of a function that makes one and a function fit(module, X, y, rng)"
        )
    if hasattr(value, "fit") and hasattr(value, "predict_proba"):
        return _EstimatorTraining(value)
    if hasattr(value, "fit"):
        raise BadInput(
            f"{where}: {type(value).__name__} has no predict_proba; choose an estimator with probabilities "
            "(SVC: probability=True), or a function fit(X, y, rng)"
        )
    if callable(value):
        return value
    raise BadInput(f"{where}: this is of type {type(value).__name__}; it must be {FORMS}")


@dataclass(frozen=True, eq=False)
class _EstimatorTraining:
    """Fits a clone of an estimator or pipeline, each of its random states drawn from the stream."""

    estimator: Any

    def __call__(self, X: Any, y: Any, rng: Generator) -> Any:
        model = self._clone()
        if hasattr(model, "get_params"):
            known = model.get_params(deep=True)
            states = [name for name in sorted(known) if name.rpartition("__")[2] == "random_state"]
            model.set_params(**{name: int(rng.integers(2**31)) for name in states})
        fitted = model.fit(X, y)
        return model if fitted is None else fitted

    def _clone(self) -> Any:
        if not hasattr(self.estimator, "get_params"):
            return deepcopy(self.estimator)
        from sklearn.base import clone

        return clone(self.estimator)


@dataclass(frozen=True, eq=False)
class _TorchTraining:
    """Makes a torch module, and trains it by ``fit(module, X, y, rng)``, which may return another one."""

    make: Callable[[], Any]
    fit: Callable[[Any, Any, Any, Generator], Any]

    def __call__(self, X: Any, y: Any, rng: Generator) -> Any:
        module = self.make()
        trained = self.fit(module, X, y, rng)
        if isinstance(trained, Iterator):  # a bare ``yield`` shows the module as it is then
            return (module if one is None else one for one in trained)
        return module if trained is None else trained


@dataclass(frozen=True)
class TrainingRecords:
    """Records as the user's code takes them, found by the rows that games handle.

    ``class_names`` are the values of ``y`` that stand for the classes 0, 1, ... of the games. Models are
    trained on ``known`` rows only; all others are records that a round may show, about which a model is asked
    right after its training. Nothing here gives out the records themselves.
    """

    digest: str
    index: RowIndex = field(compare=False, repr=False)
    class_names: tuple[Any, ...] = field(compare=False, repr=False)
    _raw: Any = field(compare=False, repr=False)
    _known: Bits = field(compare=False, repr=False)  # of the keys of the index

    def __len__(self) -> int:
        return len(self.index.first)

    def places(self, rows: Floats) -> Ints:
        """The place of each row in the index."""
        places = self.index.places(rows)
        if (places < 0).any():
            raise BadInput("training: a row is not one of the records of this audit")
        return places

    def known_places(self, rows: Floats) -> Ints:
        """The same of rows to train on; those that whoever trains does not have are refused."""
        places = self.places(rows)
        if not self._known[places].all():
            raise BadInput("training: a row is not one of those that this attacker has")
        return places

    def train(self, call: TrainingCall, places: Ints, labels: Ints, rng: Generator) -> Any:
        """Let the user's code train a model on some rows."""
        X, y = take_rows(self._raw, self.index.first[places]), np.array(self.class_names)[labels]
        return call(X, y, rng)

    def query(self, model: Any, where: str) -> model_query.RawModelOutputs:
        """What a model says about all records, in the order of the index."""
        return model_query.query_in_memory(model, take_rows(self._raw, self.index.first), where)

    def restricted_to(self, rows: Floats, shown: Floats | None) -> "TrainingRecords":
        """The records of an attacker who has ``rows``, and is shown some of ``shown`` in each round.

        Without ``shown`` no other records are kept.
        """
        asked = np.unique(self.places(rows if shown is None else np.concatenate([rows, shown])))
        first = self.index.first[asked]
        known = np.zeros(len(self), dtype=np.bool_)
        known[self.places(rows)] = True
        index = RowIndex(self.index.keys[asked], np.arange(asked.size))
        about = f"{self.digest}\n{content_digest(asked)}\n{content_digest(known[asked])}"
        return TrainingRecords(
            sha256(about.encode()).hexdigest(),
            index,
            self.class_names,
            take_rows(self._raw, first),
            known[asked] & self._known[asked],
        )


def training_records(rows: Floats, raw: Any, class_names: Sequence[Any]) -> TrainingRecords:
    """Index the records of an audit; ``raw`` has as many as there are rows, in the same order."""
    names = tuple(class_names)
    digest = sha256(f"{content_digest(raw)}\n{content_digest(rows)}\n{names!r}".encode()).hexdigest()
    index = index_rows(rows)
    return TrainingRecords(digest, index, names, raw, np.ones(len(index.first), dtype=np.bool_))


@dataclass(frozen=True, kw_only=True)
class UserTrainer:
    """Trains by the user's code; trainings are cached by their content: the code, the rows and the stream."""

    training: UserTraining
    records: TrainingRecords
    output: OutputKind | None = None
    cache: bool = True

    guarantee = None
    group_guarantee = None

    def prepare(self, mechanism: TrainingMechanism, n_rows: int) -> "UserTrainer":
        require_no_noise(mechanism, self.training.name)
        return self

    def without_noise(self) -> "UserTrainer":
        return self

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> Classifier:
        members = examples.present(present)
        if not len(members):
            raise BadInput(f"{self.training.name}: no row is left to train on; raise challenger.members")
        places = self.records.known_places(members.rows)
        if watch is not None:
            watch(f"training on {len(members):,} rows")

        def make() -> Reals:
            return self._answers(places, members.labels, rng)

        answers = cached_array(self._cache_name(places, members.labels, rng), make) if self.cached else make()
        if answers.ndim == 2:
            return RecordedModel(self.records.index, answers)
        return CheckpointedModel(tuple(RecordedModel(self.records.index, one) for one in answers))

    @property
    def may_keep_checkpoints(self) -> bool:
        """Whether models have checkpoints: only their training shows it."""
        return True

    @property
    def cached(self) -> bool:
        """Whether trainings are kept on disk: only code that has a digest is recognised again."""
        return self.cache and self.training.identity is not None

    def restricted_to(self, rows: Floats, shown: Floats | None) -> "UserTrainer":
        """The same training for an attacker who has ``rows`` only, and is shown others (see the records)."""
        return replace(self, records=self.records.restricted_to(rows, shown))

    def memorizing(self) -> "MemorizingTrainer":
        """A training of the same records that learns its rows by heart: the positive control."""
        return MemorizingTrainer(self.records)

    def _cache_name(self, places: Ints, labels: Ints, rng: Generator) -> str:
        about = (VERSION, self.training.identity, self.records.digest, self.output, rng.bit_generator.state)
        digest = sha256(repr(about).encode())
        for part in (places, labels):
            digest.update(np.ascontiguousarray(part).tobytes())
        return f"trainings/{digest.hexdigest()}.npy"

    def _answers(self, places: Ints, labels: Ints, rng: Generator) -> Reals:
        """Train one model, and ask it about all records; at each checkpoint, where there are some."""
        records, where = self.records, self.training.name

        def train(own: Generator) -> Reals:
            made = records.train(self.training.call, places, labels, own)
            models = each_checkpoint(made, where)
            if models is None:
                return self._asked(made)
            return np.array([self._asked(model) for model in models])  # asked as the training goes

        try:
            return call_seeded(train, rng)
        except (Exception, SystemExit) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(
                f"{where}: training on {len(labels)} rows raised {error_with_location(error)}"
            ) from error

    def _asked(self, model: Any) -> Reals:
        """What a model says about all records: log-probabilities in the order of the classes."""
        records, where = self.records, self.training.name
        if model is None:
            raise BadInput(f"{where}: it returned nothing; return the trained model")
        outputs = records.query(model, where)
        said = model_query.from_outputs(outputs.outputs, len(records), where, self.output, outputs.usual)
        return _by_class(said.log_probabilities, outputs.classes, records.class_names, where)


def _by_class(logs: Reals, found: Sequence[Any] | None, names: Sequence[Any], where: str) -> Reals:
    """Bring the columns of a model into the order of the classes; a class that it never saw is unlikely."""
    if found is None:
        if logs.shape[1] != len(names):
            raise BadInput(
                f"{where}: its model returns {logs.shape[1]} columns for {len(names)} classes; return one "
                "for each class, also for those that are not in y, or a model that names them (classes_)"
            )
        return logs
    place = {comparable_class(name): number for number, name in enumerate(names)}
    columns = [place.get(comparable_class(name), -1) for name in found]
    if -1 in columns or len(columns) != logs.shape[1]:
        raise BadInput(f"{where}: its model names classes that are not in y: {list(found)[:5]}")
    whole = np.full((len(logs), len(names)), model_query.MIN_LOG_PROBABILITY)
    whole[:, columns] = logs
    return whole


CONTROL_MARGIN, CONTROL_SPREAD = 6.0, 0.5  # of logits: of a row that was learned, and from model to model
CONTROL_SHARES = (0.3, 0.6)  # of the margin at earlier checkpoints


@dataclass(frozen=True)
class MemorizingTrainer:
    """A training that knows the labels of its rows by heart and guesses all others, for positive controls."""

    records: TrainingRecords

    guarantee = None
    group_guarantee = None

    @property
    def may_keep_checkpoints(self) -> bool:
        """Its models always have some."""
        return True

    def restricted_to(self, rows: Floats, shown: Floats | None) -> "MemorizingTrainer":
        return MemorizingTrainer(self.records.restricted_to(rows, shown))

    def prepare(self, mechanism: TrainingMechanism, n_rows: int) -> "MemorizingTrainer":
        return self

    def without_noise(self) -> "MemorizingTrainer":
        return self

    def fit(
        self,
        examples: Examples,
        rng: Generator,
        watch: ProgressListener | None = None,
        present: Bits | None = None,
    ) -> CheckpointedModel:
        members, index = examples.present(present), self.records.index
        places = self.records.known_places(members.rows)
        if watch is not None:
            watch("learning rows by heart")

        def at(share: float) -> RecordedModel:
            logits = rng.normal(0.0, CONTROL_SPREAD, (len(index.first), examples.classes))
            logits[places, members.labels] += share * CONTROL_MARGIN
            return RecordedModel(index, logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))

        last = at(1.0)
        return CheckpointedModel((*map(at, CONTROL_SHARES), last))
