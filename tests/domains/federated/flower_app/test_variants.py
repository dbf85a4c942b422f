"""Games with the apps that teams have: which are won, through the real client."""

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
    "dropout",
    "gelu",
)


def build(folder, name, **said):
    project, config = VARIANTS[name](folder)
    table = {"app": str(project), "data_hook": "task:load_data", "run_config": config, "targets": 1, **said}
    return challenger.build(data={}, challenger=table, mechanism={}, folder=folder, seed=7)


def won(owner, attack, n_rounds=100):
    known = knowledge.build("app_server", {}, owner, 7)
    studied = attack.study(known, stream(7, Role.STUDY))
    trials = play(owner, {"": Adversary(known, studied)}, 7, range(n_rounds), 0)[""]
    return int(((trials.scores >= 0) == trials.members).sum())


@pytest.mark.parametrize("name", [*SURE, "fixed clipping", "adaptive clipping"])
def test_clients_without_noise_are_read_nearly_always(tmp_path, name):
    assert rate_low(won(build(tmp_path, name), Attack()), 100, ERROR) > 0.85


def test_blocks_of_a_small_transformer_are_read_more_often_than_not(tmp_path):
    """One direction in 32 features: other rows pass the threshold now and then."""
    assert rate_low(won(build(tmp_path, "transformer"), Attack()), 100, ERROR) > 0.5


@pytest.mark.parametrize("name", ["sgd", "two layers"])
def test_stealthy_weights_are_as_good(tmp_path, name):
    assert rate_low(won(build(tmp_path, name), Attack(stealthy=True)), 100, ERROR) > 0.8


@pytest.mark.parametrize("epsilon", [8, 1])
def test_local_noise_is_not_beaten_beyond_what_it_allows(tmp_path, epsilon):
    """The update is clipped to norm 1, so that two of them are at most 2 apart, in Gaussian noise."""
    sigma = np.sqrt(2 * np.log(1.25 / 1e-5)) / epsilon
    right = won(build(tmp_path, f"local dp {epsilon}"), Attack())
    assert rate_low(right, 100, ERROR) <= norm.cdf(1 / sigma)
    if epsilon == 8:
        assert rate_high(right, 100, ERROR) >= norm.cdf(np.sqrt(0.5) / sigma)  # both worlds fill the bound


@pytest.mark.parametrize("iterations", [1, 4])
def test_noise_of_opacus_is_read_nearly_as_well_as_it_allows(tmp_path, iterations):
    """48 rows in batches of 16, twice: a row is in 2 of 6 steps, with noise of half the bound in each."""
    owner = build(tmp_path, "opacus .5", iterations=iterations)
    optimum = norm.cdf(2 / (2 * 0.5 * np.sqrt(6)) * np.sqrt(iterations))
    (channel,) = owner.description.channels
    assert channel.optimum(iterations) == pytest.approx(optimum)
    right, error = won(owner, Attack()) / 100, np.sqrt(optimum * (1 - optimum) / 100)
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


def test_kept_rows_are_recognised_in_any_order(tmp_path):
    """Rows are read in order, once; the app's own loader shuffles them."""
    assert rate_low(won(build(tmp_path, "kept rows"), Attack()), 100, ERROR) > 0.85


def test_noisy_rows_are_recognised_by_a_trained_detector(tmp_path):
    assert rate_low(won(build(tmp_path, "noisy rows .5"), Attack()), 100, ERROR) > 0.7


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
    here = [row[0] for row in block.answers([{}])]
    for one, other in zip(here, simulate_games(owner.settings, games)):
        for name, array in one.items():
            np.testing.assert_array_equal(array, other.update[name])


def test_rows_outside_the_partition_are_refused(tmp_path):
    with pytest.raises(BadInput, match="60 is outside the client's partition, which has the rows 0 to 47"):
        build(tmp_path, "sgd", targets={"names": [60]})
