"""Every trainer in the folder keeps the contract of ``training/trainer.py``; new files need no edit here."""

import pickle
import typing
from dataclasses import FrozenInstanceError, fields
from enum import Enum

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING, DpTraining, TrainingMechanism
from leakgauge.domains.models.training.trainer import (
    Examples,
    accuracy,
    cross_entropy,
    find_trainer,
    read_trainer,
    trainer_names,
)

ROWS = 60
WITHOUT_CHANCE = ("noisy_mean",)  # nothing is random in them but noise


@pytest.fixture(params=trainer_names())
def name(request) -> str:
    return request.param


@pytest.fixture
def trainer(name):
    return read_trainer({"name": name}, "trainer").prepare(PLAIN_TRAINING, ROWS)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def examples(n: int = ROWS, *, classes: int = 3, seed: int = 5) -> Examples:
    """Rows whose class a few features decide."""
    rows = rng(seed).random((n, 6), dtype=np.float32)
    return Examples(rows, rows[:, :classes].argmax(axis=1), classes)


def test_training_is_reproducible(name, trainer):
    first, again, other = (trainer.fit(examples(), rng(seed)) for seed in (1, 1, 2))
    queried = examples(seed=6).rows
    np.testing.assert_array_equal(first.log_probabilities(queried), again.log_probabilities(queried))
    if name not in WITHOUT_CHANCE:
        assert not np.array_equal(first.log_probabilities(queried), other.log_probabilities(queried))


def test_probabilities_sum_to_one_and_logs_are_finite(trainer):
    logs = trainer.fit(examples(), rng()).log_probabilities(examples(seed=6).rows)
    assert logs.shape == (ROWS, 3)
    assert logs.dtype == np.float64
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, rtol=1e-9)


def test_absent_class_has_a_probability(trainer):
    given = examples()
    few = Examples(given.rows, np.minimum(given.labels, 1), 3)
    logs = trainer.fit(few, rng()).log_probabilities(given.rows)
    assert logs.shape == (ROWS, 3)
    assert np.isfinite(logs).all()
    assert (logs[:, 2] < np.log(1 / 3)).mean() > 0.9


def test_empty_and_single_row_queries_work(trainer):
    model, queried = trainer.fit(examples(), rng()), examples(seed=6).rows
    one_by_one = np.concatenate([model.log_probabilities(queried[[i]]) for i in range(5)])
    np.testing.assert_allclose(one_by_one, model.log_probabilities(queried)[:5], rtol=1e-5, atol=1e-6)
    assert model.log_probabilities(queried[:0]).shape == (0, 3)


def test_model_learns_its_rows(trainer):
    given = examples()
    model = trainer.fit(given, rng())
    assert accuracy(model, given) >= 0.9
    assert cross_entropy(model, given).mean() < np.log(3) / 2


def test_absent_rows_are_not_trained_on(trainer):
    given, present = examples(), np.arange(ROWS) % 4 > 0
    rows, labels = given.rows.copy(), given.labels.copy()
    rows[~present], labels[~present] = 0.5, (labels[~present] + 1) % 3
    models = [
        trainer.fit(one, rng(), present=present) for one in (given, Examples(rows, labels, given.classes))
    ]
    queried = examples(seed=6).rows
    logs = [model.log_probabilities(queried) for model in models]
    np.testing.assert_array_equal(logs[0], logs[1])
    assert not np.array_equal(logs[0], trainer.fit(given, rng()).log_probabilities(queried))


def test_shadows_may_have_other_number_of_rows(trainer):
    for n in (ROWS // 3, 2 * ROWS):
        assert trainer.fit(examples(n), rng()).log_probabilities(examples().rows).shape == (ROWS, 3)


def test_examples_stay_unchanged(trainer):
    given = examples()
    for array in (given.rows, given.labels):
        array.setflags(write=False)
    trainer.fit(given, rng()).log_probabilities(given.rows)


def test_trainers_and_models_can_be_pickled(name, trainer):
    assert pickle.loads(pickle.dumps(trainer)) == trainer
    model, queried = trainer.fit(examples(), rng()), examples(seed=6).rows
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.log_probabilities(queried), model.log_probabilities(queried))


def test_equal_trainers_share_a_cache_key(name, trainer):
    again = read_trainer({"name": name}, "trainer").prepare(PLAIN_TRAINING, ROWS)
    assert {trainer: 1}[again] == 1
    with pytest.raises(FrozenInstanceError):
        trainer.anything = 1


def test_progress_is_reported(trainer):
    messages: list[str] = []
    trainer.fit(examples(), rng(), messages.append)
    assert messages
    assert all(isinstance(message, str) for message in messages)


def test_no_noise_gives_no_guarantee(trainer):
    plain = trainer.without_noise()
    assert plain.guarantee is None
    assert plain.group_guarantee is None
    queried = examples(seed=6).rows
    np.testing.assert_array_equal(
        plain.fit(examples(), rng()).log_probabilities(queried),
        trainer.fit(examples(), rng()).log_probabilities(queried),
    )


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_noise_has_a_guarantee_or_is_rejected(name, optimizer):
    """A trainer must not accept the noise of a mechanism, and then promise nothing for it."""
    noise = DpTraining(relation=Relation.REPLACE_ONE, epsilon=2.0)
    mechanism = TrainingMechanism(
        name=f"dp_{optimizer}", noise=noise, relation=noise.relation, optimizer=optimizer
    )
    chosen, refusal = read_trainer({"name": name}, "trainer"), ""
    try:
        prepared = chosen.prepare(mechanism, ROWS)
    except BadInput as error:
        prepared, refusal = None, str(error)
    if prepared is None:
        assert name in refusal
        assert "\n" not in refusal
        return
    assert prepared.guarantee.epsilon <= 2.0
    assert prepared.guarantee.relation is Relation.REPLACE_ONE
    assert prepared.group_guarantee.epsilon > prepared.guarantee.epsilon
    assert prepared.without_noise().guarantee is None
    queried = examples().rows
    noisy, plain = (one.fit(examples(), rng()) for one in (prepared, prepared.without_noise()))
    assert not np.array_equal(noisy.log_probabilities(queried), plain.log_probabilities(queried))


def bad_values(hint) -> list:
    """Values that no parameter of this type may have."""
    kinds = typing.get_args(hint) or (hint,)
    if bool in kinds:
        return ["yes", 2]
    if int in kinds:
        return [-1, 0.5, "many"]
    if float in kinds:
        return [-1.0, float("nan"), "much"]
    if any(isinstance(kind, type) and issubclass(kind, Enum) for kind in kinds):
        return ["no such choice", 1]
    return [{}]


def test_rejects_bad_parameters_in_one_line(name):
    kind = find_trainer(name, "trainer")
    hints = typing.get_type_hints(kind)
    tables = [{field.name: value} for field in fields(kind) for value in bad_values(hints[field.name])]
    assert len(tables) >= len(fields(kind))
    for table in [*tables, {"no_such_parameter": 1}]:
        with pytest.raises(BadInput, match=next(iter(table))) as refusal:
            read_trainer({"name": name, **table}, "trainer")
        assert str(refusal.value).startswith("trainer"), table
        assert "\n" not in str(refusal.value), table


def test_rejects_unknown_trainer_with_nearest_name():
    with pytest.raises(BadInput, match=r"challenger\.trainer: none is called 'random_forrest'; did you mean"):
        read_trainer({"name": "random_forrest"}, "challenger.trainer")
