"""Games with the apps that teams have, through the real client: won as often as a page says."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from app_variants import VARIANTS
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import challenger, knowledge
from leakgauge.domains.federated.attacks.planted_layers import Attack
from leakgauge.domains.federated.flower_app.client_process import client_process
from leakgauge.domains.federated.flower_app.transport_apps import simulate_games
from leakgauge.referee.intervals import rate_high, rate_low

pytestmark = pytest.mark.nightly
ERROR = 1e-3
SURE = (
    "norm behind",
    "tanh behind",
    "residual",
    "sgd",
    "momentum",
    "weight decay",
    "adamw",
    "legacy",
    "batch norm",
    "client state",
    "worker processes",
    "kept rows",
    "dropout",
    "gelu",
    "fixed clipping",
    "adaptive clipping",
)
SEED, ANOTHER = 7, 8  # of the columns on the page
OTHER_MACHINES = 3  # games of 100 that rounding may decide otherwise
ROWS = {  # what docs/flower.md calls an app: its name, and what the plan says besides
    "SGD": ("sgd",),
    "momentum": ("momentum",),
    "weight decay": ("weight decay",),
    "AdamW": ("adamw",),
    "`client_fn` of older Flower": ("legacy",),
    "BatchNorm": ("batch norm",),
    "client with state": ("client state",),
    "loader with worker processes": ("worker processes",),
    "rows kept in memory": ("kept rows",),
    "fixed clipping mod": ("fixed clipping",),
    "adaptive clipping mod": ("adaptive clipping",),
    "GELU": ("gelu",),
    "LayerNorm behind two linear layers": ("norm behind",),
    "tanh behind them": ("tanh behind",),
    "residual block": ("residual",),
    "dropout, 0.1 before and 0.25 behind the first linear layer": ("dropout",),
    "one hidden layer only": ("two layers",),
    "small transformer of 32 features, one linear layer at its end": ("transformer",),
    "SGD, `stealthy`": ("sgd", "stealthy"),
    "one hidden layer only, `stealthy`": ("two layers", "stealthy"),
    "`LocalDpMod`, clip 1, ε = 8, δ = 10⁻⁵": ("local dp 8",),
    "`LocalDpMod`, ε = 1": ("local dp 1",),
    "Opacus in the client, noise multiplier 0.5": ("opacus .5",),
    "Opacus, `iterations = 4`": ("opacus .5", "four times"),
    "Laplace noise of scale 0.5 on pixels": ("noisy rows .5",),
    "Opacus, `stealthy`": ("opacus .5", "stealthy"),
    "`LocalDpMod`, ε = 8, `stealthy`": ("local dp 8", "stealthy"),
}


def read_page():
    """Right guesses of 100 by app and seed."""
    page = (Path(__file__).parents[4] / "docs" / "flower.md").read_text()
    found = {}
    for line in page.partition("## What it finds")[2].partition("## Limits")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in cells[0].split("; ") if re.fullmatch(r"\d+", cells[1] if len(cells) > 2 else "") else ():
            for seed, right in zip((SEED, ANOTHER), cells[1:3], strict=True):
                if right:
                    found[*ROWS[name], seed] = int(right)
    return found


STATED = read_page()


def build(folder, name, seed=SEED, **said):
    project, config = VARIANTS[name](folder)
    table = {"app": str(project), "data_hook": "task:load_data", "run_config": config, "targets": 1, **said}
    return challenger.build(data={}, challenger=table, mechanism={}, folder=folder, seed=seed)


def won(owner, attack, seed=SEED):
    known = knowledge.build("app_server", {}, owner, seed)
    studied = attack.study(known, stream(seed, Role.STUDY))
    trials = play(owner, {"": Adversary(known, studied)}, seed, range(100), 0)[""]
    return int(((trials.scores >= 0) == trials.members).sum())


def won_as_stated(folder, name, *kind, seed=SEED):
    """Count the games of 100 that are won; they are those of the page."""
    said = {"iterations": 4} if "four times" in kind else {}
    right = won(build(folder, name, seed, **said), Attack(stealthy="stealthy" in kind), seed)
    assert right == pytest.approx(STATED[name, *kind, seed], abs=OTHER_MACHINES)
    return right


@pytest.mark.parametrize("name", SURE)
def test_clients_without_noise_are_read_nearly_always(tmp_path, name):
    assert rate_low(won_as_stated(tmp_path, name), 100, ERROR) > 0.85


@pytest.mark.parametrize("seed", [SEED, ANOTHER])
@pytest.mark.parametrize("name", ["transformer", "two layers"])
def test_few_features_are_read_more_often_than_not(tmp_path, name, seed):
    """One direction in 32 features, or in those of one layer: other rows pass the threshold now and then."""
    assert rate_low(won_as_stated(tmp_path, name, seed=seed), 100, ERROR) > 0.5


@pytest.mark.parametrize("name", ["sgd", "two layers"])
def test_stealthy_weights_are_as_good(tmp_path, name):
    assert rate_low(won_as_stated(tmp_path, name, "stealthy"), 100, ERROR) > 0.8


@pytest.mark.parametrize("name", ["local dp 8", "opacus .5"])
def test_stealthy_weights_are_hidden_by_noise(tmp_path, name):
    assert rate_low(won_as_stated(tmp_path, name, "stealthy"), 100, ERROR) < 0.5


@pytest.mark.parametrize("seed", [SEED, ANOTHER])
@pytest.mark.parametrize("epsilon", [8, 1])
def test_local_noise_is_not_beaten_beyond_what_it_allows(tmp_path, epsilon, seed):
    """The update is clipped to norm 1, so that two of them are at most 2 apart, in Gaussian noise."""
    sigma = np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon
    right = won_as_stated(tmp_path, f"local dp {epsilon}", seed=seed)
    assert rate_low(right, 100, ERROR) <= norm.cdf(1 / sigma)
    if (epsilon, seed) == (8, SEED):  # the other target is found less often: 76 of 100
        assert rate_high(right, 100, ERROR) >= norm.cdf(np.sqrt(0.5) / sigma)  # both worlds fill the bound


@pytest.mark.parametrize("seed", [SEED, ANOTHER])
@pytest.mark.parametrize("iterations", [1, 4])
def test_noise_of_opacus_is_read_nearly_as_well_as_it_allows(tmp_path, iterations, seed):
    """48 rows in batches of 16, twice: a row is in 2 of 6 steps, with noise of half the bound in each."""
    optimum = norm.cdf(2 / (2 * 0.5 * np.sqrt(6)) * np.sqrt(iterations))
    (channel,) = build(tmp_path / "described", "opacus .5").description.channels
    assert channel.optimum(iterations) == pytest.approx(optimum)
    kind = ("four times",) if iterations == 4 else ()
    right, error = (
        won_as_stated(tmp_path, "opacus .5", *kind, seed=seed) / 100,
        np.sqrt(optimum * (1 - optimum) / 100),
    )
    assert right <= optimum + 3 * error
    assert right >= optimum - 0.03 - 3 * error


@pytest.mark.parametrize("name", ["opacus poisson", "opacus in parts"])
def test_steps_and_reads_of_opacus_are_its_own(tmp_path, name):
    """48 rows in batches of 16 on average, twice; batches that are computed in parts get noise once."""
    (channel,) = build(tmp_path, name).description.channels
    assert channel.steps == 6
    assert channel.reads == pytest.approx(2.0)
    assert channel.reads_are == ("binomial" if name == "opacus poisson" else "fixed")


def test_reads_of_a_row_in_one_step_are_recorded(tmp_path):
    """48 rows, of which each of six steps draws 16 with replacement: reads of a step are binomial."""
    (channel,) = build(tmp_path, "opacus replacement").description.channels
    assert (channel.steps, channel.reads_are) == (6, "unknown")
    assert channel.reads == pytest.approx(2.0)
    square = 6 * (16 / 48 * 47 / 48 + (16 / 48) ** 2)
    assert square < channel.norm_square < 1.4 * square
    assert channel.reads_norm**2 < channel.norm_square


@pytest.mark.parametrize(
    ("name", "seed"), [("noisy rows .5", SEED), ("noisy rows .5", ANOTHER), ("dropout", ANOTHER)]
)
def test_rows_that_change_are_recognised_by_a_trained_detector(tmp_path, name, seed):
    assert rate_low(won_as_stated(tmp_path, name, seed=seed), 100, ERROR) > 0.6


def test_games_do_not_depend_on_the_games_before_them(tmp_path):
    """Noise of Opacus in each game by its own seed alone: in any order, the same answers."""
    owner = build(tmp_path, "opacus .5")
    block = owner.release(np.array([[True], [False], [True], [False]]), np.random.default_rng(5))
    games = [block.games(row, 0, {})[0] for row in range(4)]
    assert len({game.seed for game in games}) == 4
    process = client_process(owner.settings)
    first, later = list(process.play(games)), list(process.play(games[::-1]))[::-1]
    for one, other in zip(first, later):
        for name, array in one.update.items():
            np.testing.assert_array_equal(array, other.update[name])
    assert not np.array_equal(first[0].update["fc2.weight"], first[2].update["fc2.weight"])


def test_control_leaves_out_local_noise(tmp_path):
    owner = build(tmp_path, "local dp 1")
    assert rate_low(won(owner.control(), Attack()), 100, ERROR) > 0.85


def test_same_answers_in_flowers_simulation(tmp_path):
    owner = build(tmp_path, "sgd")
    block = owner.release(np.array([[True], [False]]), np.random.default_rng(5))
    games = [block.games(row, 0, {})[0] for row in range(2)]
    here = [row[0][0] for row in block.answers([{}])]
    for one, other in zip(here, simulate_games(owner.settings, games)):
        for name, array in one.update.items():
            np.testing.assert_array_equal(array, other.update[name])
        assert one.fields == other.fields


def test_rows_outside_the_partition_are_refused(tmp_path):
    with pytest.raises(BadInput, match="60 is outside the client's partition, which has the rows 0 to 47"):
        build(tmp_path, "sgd", targets={"names": [60]})
