"""Training code of the user: functions, estimators and torch modules as trainers, cached on disk."""

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.recorded_model import numbered_rows
from leakgauge.domains.models.training.noise_calibration import DpTraining, TrainingMechanism
from leakgauge.domains.models.training.trainer import Examples, accuracy
from leakgauge.domains.models.training.user_trainer import (
    UserTrainer,
    load_training,
    training_of,
    training_records,
)
from night import others_at_night

EVEN = "lambda rows: rows[:, :3] * 0 + 1 / 3"
WEIGHT = 1.0
ROWS, CLASSES = 80, ("high", "low", "middle")


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "leakgauge" / "trainings"


def rng(seed=1):
    return np.random.default_rng(seed)


def data(seed=5):
    rows = rng(seed).normal(size=(ROWS, 4))
    return rows, rows[:, :3].argmax(axis=1)


def trainer_for(value, raw=None, **options):
    rows, _ = data()
    records = training_records(numbered_rows(ROWS), rows if raw is None else raw, CLASSES)
    return UserTrainer(training=training_of(value, "train"), records=records, **options)


def examples():
    return Examples(numbered_rows(ROWS), data()[1], 3)


def fit_forest(X, y, rng):
    return RandomForestClassifier(10, random_state=int(rng.integers(2**31))).fit(X, y)


def fit_by_global_generator(X, y, rng):
    noise = np.random.normal(size=(4, 3))  # noqa: NPY002
    return lambda rows: np.exp(rows @ noise) / np.exp(rows @ noise).sum(axis=1, keepdims=True)


def fit_by_global_weight(X, y, rng):
    weights = np.array([1.0, WEIGHT, WEIGHT]) / (1 + 2 * WEIGHT)
    return lambda rows: np.tile(weights, (len(rows), 1))


def make_net():
    import torch

    return torch.nn.Linear(4, 3, dtype=torch.float64)


def train_net(module, X, y, rng):
    import torch

    classes = torch.as_tensor(np.unique(y, return_inverse=True)[1])
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(torch.as_tensor(X)), classes).backward()
        optimizer.step()


FORMS = {
    "function": fit_forest,
    "estimator": RandomForestClassifier(10),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(10)),
    "torch": (make_net, train_net),
    "global generator": fit_by_global_generator,
}


@pytest.mark.parametrize("form", others_at_night(FORMS, "function", "torch"))
def test_every_form_is_trained_from_the_stream(form):
    first, again, other = (
        trainer_for(FORMS[form], cache=False).fit(examples(), rng(seed)).answers for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(np.exp(first).sum(axis=1), 1.0)


@pytest.mark.parametrize("form", ["function", "estimator", "pipeline", "torch"])
def test_model_learns_its_rows(form):
    assert accuracy(trainer_for(FORMS[form]).fit(examples(), rng()), examples()) > 0.85


def test_estimator_of_the_user_stays_unfitted():
    forest = RandomForestClassifier(3, random_state=7)
    trainer_for(forest).fit(examples(), rng())
    assert not hasattr(forest, "estimators_")
    assert forest.random_state == 7


def test_only_present_rows_and_their_labels_reach_the_code():
    seen = []

    def fit(X, y, rng):
        seen.append((X, y))
        return lambda rows: np.full((len(rows), 3), 1 / 3)

    present = np.arange(ROWS) % 4 == 0
    trainer_for(fit, cache=False).fit(examples(), rng(), present=present)
    rows, labels = data()
    np.testing.assert_array_equal(seen[0][0], rows[present])
    assert seen[0][1].tolist() == [CLASSES[label] for label in labels[present]]


def test_columns_follow_the_names_of_the_classes():
    rows, labels = data()
    named = np.array(CLASSES)[labels]
    expected = LogisticRegression().fit(rows, named)
    order = [list(expected.classes_).index(name) for name in CLASSES]
    found = trainer_for(LogisticRegression()).fit(examples(), rng())
    logs = found.log_probabilities(numbered_rows(ROWS))
    np.testing.assert_allclose(np.exp(logs), expected.predict_proba(rows)[:, order], rtol=1e-9)


def test_class_that_was_never_seen_is_unlikely():
    few = Examples(numbered_rows(ROWS), np.minimum(data()[1], 1), 3)
    logs = trainer_for(LogisticRegression()).fit(few, rng()).answers
    assert np.isfinite(logs).all()
    assert (logs[:, 2] < -100).all()


def test_texts_and_frames_reach_the_code_as_they_are():
    import pandas as pd

    frame = pd.DataFrame({"text": [f"row {i}" for i in range(ROWS)]})

    def fit(X, y, rng):
        assert list(X.columns) == ["text"]
        return lambda rows: np.full((len(rows), 3), 1 / 3)

    assert trainer_for(fit, frame).fit(examples(), rng()).answers.shape == (ROWS, 3)

    def fit_texts(X, y, rng):
        assert isinstance(X[0], str)
        return lambda rows: np.full((len(rows), 3), 1 / 3)

    assert trainer_for(fit_texts, list(frame.text)).fit(examples(), rng()).answers.shape == (ROWS, 3)


def test_training_is_cached_by_rows_labels_and_stream(cache_folder):
    def files():
        return {path.name for path in cache_folder.iterdir()}

    trainer = trainer_for(FORMS["estimator"])
    first = trainer.fit(examples(), rng())
    assert len(files()) == 1
    (file,) = cache_folder.iterdir()
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    np.testing.assert_array_equal(trainer.fit(examples(), rng()).answers, first.answers)
    assert len(files()) == 1
    trainer.fit(examples(), rng(2))
    trainer.fit(examples(), rng(), present=np.arange(ROWS) > 3)
    trainer.fit(Examples(numbered_rows(ROWS), (data()[1] + 1) % 3, 3), rng())
    assert len(files()) == 4
    trainer_for(RandomForestClassifier(11)).fit(examples(), rng())
    assert len(files()) == 5


def test_cached_training_is_not_repeated(tmp_path, cache_folder):
    """Also by another process, here one that loads the code of a plan again; a damaged file is made again."""
    code = f"count = []\ndef fit(X, y, rng):\n    count.append(1)\n    return {EVEN}\n"
    (tmp_path / "mine.py").write_text(code)

    def trained():
        rows, _ = data()
        training = load_training("mine:fit", tmp_path, "challenger.train")
        records = training_records(numbered_rows(ROWS), rows, CLASSES)
        trainer = UserTrainer(training=training, records=records)
        trainer.fit(examples(), rng())
        return len(training.call.__globals__["count"])

    assert trained() == 1
    assert trained() == 0
    (file,) = cache_folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert trained() == 1
    (tmp_path / "mine.py").write_text(code + "# other\n")
    assert trained() == 1


def test_training_with_another_value_of_a_global_is_another_training(cache_folder, monkeypatch):
    first = trainer_for(fit_by_global_weight).fit(examples(), rng())
    monkeypatch.setattr(sys.modules[__name__], "WEIGHT", 0.5)
    assert not np.array_equal(trainer_for(fit_by_global_weight).fit(examples(), rng()).answers, first.answers)
    assert len(list(cache_folder.iterdir())) == 2


def test_memorizing_control_recognises_its_rows_alone():
    control = trainer_for(FORMS["estimator"]).memorizing()
    present = np.arange(ROWS) % 2 == 0
    logs = control.fit(examples(), rng(), present=present).log_probabilities(numbered_rows(ROWS))
    own = np.exp(logs[np.arange(ROWS), data()[1]])
    assert own[present].min() > 0.9
    assert own[~present].max() < 0.9


def refuse(X, y, rng):
    raise KeyError("no such column")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (refuse, r"raised KeyError: 'no such column' \(.*test_user_trainer.py"),
        (lambda X, y, rng: None, "returned nothing"),
        (lambda X, y, rng: lambda rows: np.full((len(rows), 2), 0.5), "2 columns for 3 classes"),
        (lambda X, y, rng: 3, "must have predict_proba"),
    ],
)
def test_bad_training_is_named_in_one_line(value, message):
    with pytest.raises(BadInput, match=message) as refusal:
        trainer_for(value).fit(examples(), rng())
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [(SVC(), "no predict_proba"), (RandomForestClassifier, "this is the class"), (3, "of type int")],
)
def test_what_cannot_train_is_refused(value, message):
    with pytest.raises(BadInput, match=message):
        training_of(value, "train")


def test_noise_of_a_mechanism_is_refused():
    noise = DpTraining(relation=Relation.REPLACE_ONE, epsilon=2.0)
    mechanism = TrainingMechanism(name="dp_sgd", noise=noise, relation=noise.relation, optimizer="sgd")
    with pytest.raises(BadInput, match="train = "):
        trainer_for(fit_forest).prepare(mechanism, ROWS)


def test_table_of_a_plan_names_module_and_fit(tmp_path):
    (tmp_path / "net.py").write_text(
        f"def make():\n    return [1]\ndef train(module, X, y, rng):\n    return {EVEN}\n"
    )
    training = load_training({"module": "net:make", "fit": "net:train"}, tmp_path, "challenger.train")
    assert training.call(data()[0], None, rng())(data()[0]).shape == (ROWS, 3)
    with pytest.raises(BadInput, match=r"got the keys \['maker'\]"):
        load_training({"maker": "net:make"}, Path(tmp_path), "challenger.train")
