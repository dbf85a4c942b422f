"""Plans about your own model, written into a folder and carried out in this process."""

import json
from pathlib import Path

import numpy as np

from leakgauge.catalog import prepare_audit
from leakgauge.cli.main import main
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.plan import read_plan

OPTIMAL = '{ name = "loss_threshold", threshold = "optimal", knowledge = "black_box" }'


def write_csv(path: Path, columns):
    """A file of columns, numbers in full precision."""
    rows = zip(*(list(column) for column in columns.values()))
    lines = [",".join(columns), *(",".join(map(_text, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def _text(value):
    return "" if value is None else repr(float(value)) if isinstance(value, float) else str(value)


def write_plan(folder: Path, data: str, challenger: str = "", attacks: str = OPTIMAL, rounds: int = 1):
    more = f", {challenger}" if challenger else ""
    path = folder / "plan.toml"
    path.write_text(
        f'[[audit]]\nname = "mine"\ndomain = "models"\nrounds = {rounds}\ndata = {{ {data} }}\n'
        f'challenger = {{ game = "given"{more} }}\nattacks = [{attacks}]\n'
    )
    return path


def game_of(path: Path):
    plan = read_plan(path)
    return prepare_audit(plan.audits[0], plan)


def losses_of(game):
    """The loss of each record in question, as an attacker sees it, and who was a member."""
    (label,) = game.attacks
    scorer = game.attacks[label].study(game.knowledges[label], stream(0, Role.STUDY))
    found = play(game.challenger, {label: Adversary(game.knowledges[label], scorer)}, 0, range(1), 0)[label]
    return -found.scores, found.members


def carried_out(path: Path):
    """The exit code, and the verdicts by label."""
    out = path.parent / "out"
    code = main(["run", str(path), "--out", str(out)])
    verdicts = json.loads((out / "verdicts.json").read_text()) if (out / "verdicts.json").exists() else None
    return code, verdicts


def numbers(n, seed=0, features=4):
    """Rows, labels that depend on them, and members by coins."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, features)).round(6)
    labels = (rows[:, 0] + rng.normal(size=n) > 0).astype(int)
    return rows, labels, rng.random(n) < 0.5
