"""Plans whose models, and shadow models, are trained by code of the user."""

import pickle

import numpy as np
import pytest

import leakgauge
from domains.models.user_model.plans import write_csv
from leakgauge.catalog import prepare_audit
from leakgauge.core.errors import BadInput
from leakgauge.plan import plan_of

CODE = """
import numpy as np
from pathlib import Path
from sklearn.ensemble import RandomForestClassifier

def load():
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(["a", "b", "c", "d"], 6)) for _ in range(240)]
    return texts, np.array([("no", "yes")[int(text.count("a") > 1)] for text in texts])

def fit(X, y, rng):
    with Path(__file__).with_name("trained").open("a") as file:
        file.write("x")
    return RandomForestClassifier(8, random_state=int(rng.integers(2**31))).fit(X, y)

def fit_texts(X, y, rng):
    known = dict(zip(X, y))
    chance = lambda text: 0.5 if text not in known else 0.9 if known[text] == "yes" else 0.1
    return lambda texts: np.array([chance(text) for text in texts])

model = None
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(challenger, attacks, data=None, rounds=8):
    audit = {
        "name": "a",
        "domain": "models",
        "rounds": rounds,
        "data": data or {"rows": 200, "features": 4},
        "mechanism": {"name": "none"},
        "challenger": challenger,
        "attacks": attacks,
    }
    return {"seed": 1, "audit": [audit]}


def n_trained(folder):
    return len((folder / "trained").read_text())


GAME = {"train": "mine:fit", "members": 40, "targets": 20}
LIRA = {"name": "lira", "shadows": 4}


def test_user_code_trains_rounds_and_shadows_once(folder, capsys):
    """12 trainings: 8 rounds and 4 shadows; a second run takes them from the cache, and finds the same."""
    first = leakgauge.run(plan(GAME, [LIRA]), out=folder / "one")
    assert "12 trainings, about" in capsys.readouterr().err
    assert n_trained(folder) <= 8 + 4 + 2
    before = n_trained(folder)
    again = leakgauge.run(plan(GAME, [LIRA]), out=folder / "two")
    assert n_trained(folder) == before
    assert [one.metrics for one in first] == [one.metrics for one in again]
    assert first[0].instrument["control"]["status"] == "passed"


def test_workers_give_the_same_trials(folder):
    results = [
        leakgauge.run(plan(GAME | {"cache": False}, [LIRA]), out=folder / str(workers), workers=workers)
        for workers in (1, 2)
    ]
    assert results[0][0].metrics == results[1][0].metrics


def test_records_of_any_kind_come_from_user_code(folder):
    game = {"train": "mine:fit_texts", "members": 60, "targets": 30}
    attack = {"name": "loss_threshold", "threshold": "optimal", "knowledge": "black_box"}
    (found,) = leakgauge.run(plan(game, [attack], {"source": "mine:load"}), out=folder / "out")
    assert found.metrics["auc"].value > 0.7
    with pytest.raises(BadInput, match="name your own training"):
        leakgauge.run(plan({"members": 60}, [attack], {"source": "mine:load"}), out=folder / "other")


def test_finished_model_of_a_plan_has_shadows_of_its_own_training(folder):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(160, 4)).round(4)
    labels = (rows[:, 0] + rng.normal(size=160) > 0).astype(int)
    members = np.arange(160) % 2 == 0
    columns = {f"x{i}": rows[:, i] for i in range(4)} | {"y": labels, "member": members.astype(int)}
    write_csv(folder / "rows.csv", columns)
    (folder / "ours.py").write_text(
        CODE + "table = np.loadtxt(Path(__file__).with_name('rows.csv'), delimiter=',', skiprows=1)\n"
        "own = table[:, 5] == 1\n"
        "model = RandomForestClassifier(8, random_state=1).fit(table[own, :4], table[own, 4])\n"
    )
    given = {"game": "given", "model": "ours:model", "train": "ours:fit"}
    table = plan(given, [{"name": "lira", "shadows": 8}], {"source": "rows.csv", "label": "y"}, rounds=1)
    (found,) = leakgauge.run(table, out=folder / "out")
    assert found.metrics["auc"].low > 0.5
    assert found.instrument["control"]["status"] == "not possible"


@pytest.mark.parametrize(
    ("challenger", "message"),
    [
        ({"train": "mine:fit", "trainer": "random_forest"}, "train says how models are trained"),
        ({"train": "mine:fit", "epochs": 3}, "epochs: train says"),
        ({"output": "logits"}, "output is about"),
        ({"train": "mine:nothing"}, "has no 'nothing'"),
        ({"train": "mine:model"}, "of type NoneType"),
        ({"train": {"fit": "mine:fit"}}, "a table of module"),
    ],
)
def test_mistakes_in_the_table_are_named(folder, challenger, message):
    with pytest.raises(BadInput, match=message):
        leakgauge.run(plan({"members": 40, "targets": 20, **challenger}, [LIRA]), out=folder / "out")
    assert not (folder / "out").exists()


def trainer_of_attacker(challenger, knowledge, data=None):
    table = plan(challenger, [{**LIRA, "knowledge": knowledge}], data)
    (audit,) = plan_of(table).audits
    game = prepare_audit(audit, plan_of(table))
    (known,) = game.knowledges.values()
    return game.challenger, known.trainer


def test_attacker_has_only_records_of_its_own_and_the_targets(folder):
    """Neither the rows nor the raw records of other members are anywhere in what it knows."""
    challenger, trainer = trainer_of_attacker(GAME, "black_box")
    own = {*challenger.setup.reference.tolist(), *challenger.game.targets.tolist()}
    assert len(trainer.records) == len(own) == 120
    held = pickle.dumps(trainer.records)
    others = np.setdiff1d(np.arange(200), list(own))
    assert not any(challenger.table.rows[row].tobytes() in held for row in others)
    assert any(challenger.table.rows[row].tobytes() in held for row in own)
    with pytest.raises(BadInput, match="not one of the records"):
        trainer.fit(challenger.table.take(others), np.random.default_rng(0))


def test_attacker_never_trains_on_records_that_rounds_show(folder):
    dependence = {"name": "clusters"}
    game = {"train": "mine:fit", "game": "mixture", "members": 20, "targets": 10, "dependence": dependence}
    challenger, trainer = trainer_of_attacker(game, "components")
    pool = np.setdiff1d(np.arange(200), challenger.setup.reference)
    with pytest.raises(BadInput, match="not one of those that this attacker has"):
        trainer.fit(challenger.table.take(pool[:20]), np.random.default_rng(0))
    trained = trainer.fit(challenger.table.take(challenger.setup.reference), np.random.default_rng(0))
    assert trained.log_probabilities(challenger.table.rows[pool]).shape == (pool.size, 2)
    assert not hasattr(trainer.records, "raw")
