"""Exposure of records, against records whose exposure is known and against fresh models."""

import stat
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import leakgauge
from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models import exposure
from leakgauge.domains.models.membership_signals import largest_log_odds, log_odds, signal_matrix
from leakgauge.domains.models.shadow_models import train_shadows


def gaussian_signals(
    separation: Reals, n_shadows: int, seed: int, share: float = 0.5
) -> exposure.ShadowSignals:
    """Log-odds whose distribution is known: included ones are higher by so many standard deviations."""
    rng = np.random.default_rng(seed)
    included = exposure.draw_inclusion(n_shadows, separation.size, share, rng)
    scale, level = rng.uniform(0.5, 2.0, separation.size), rng.normal(0, 3, separation.size)
    odds = level + scale * (rng.normal(size=included.shape) + np.where(included, separation, 0.0))
    return exposure.ShadowSignals(odds, included)


def test_every_record_is_in_half_of_the_shadows() -> None:
    included = exposure.draw_inclusion(64, 500, 0.5, np.random.default_rng(1))
    assert (included.sum(axis=0) == 32).all()
    assert np.corrcoef(included[:, 0], included[:, 1])[0, 1] != pytest.approx(1.0)


def test_exposure_of_known_gaussians_is_the_closed_form() -> None:
    separation = np.where(np.arange(3_000) % 10 == 0, 3.5, 0.4)
    signals = gaussian_signals(separation, 64, 2)
    rates = exposure.record_rates(signals, signals.leave_one_out(), np.random.default_rng(0))
    for each, slack in ((3.5, 0.015), (0.4, 0.03)):
        of = separation == each
        assert rates.accuracy[of].mean() == pytest.approx(stats.norm.cdf(each / 2), abs=slack)
        assert rates.auc[of].mean() == pytest.approx(stats.norm.cdf(each / np.sqrt(2)), abs=slack)
    assert np.mean(rates.accuracy[separation == 3.5] >= 0.9) > 0.9
    assert not (rates.accuracy[separation == 0.4] >= 0.9).any()


def test_records_without_any_effect_are_not_exposed() -> None:
    signals = gaussian_signals(np.zeros(2_000), 32, 3)
    rates = exposure.record_rates(signals, signals.leave_one_out(), np.random.default_rng(0))
    assert rates.accuracy.max() < 0.58
    assert rates.auc.max() < 0.6
    assert rates.tpr.max() < 0.1


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_accuracy_does_not_count_how_many_models_have_the_record(share: float) -> None:
    separation = np.where(np.arange(2_000) % 10 == 0, 3.5, 0.0)
    signals = gaussian_signals(separation, 64, 5, share)
    rates = exposure.record_rates(signals, signals.leave_one_out(), np.random.default_rng(0))
    assert rates.accuracy[separation == 0].mean() == pytest.approx(0.5, abs=0.02)
    assert rates.accuracy[separation == 3.5].mean() == pytest.approx(stats.norm.cdf(3.5 / 2), abs=0.02)


def test_a_shadow_is_scored_without_itself() -> None:
    signals = gaussian_signals(np.zeros(5), 16, 4)
    scores = signals.leave_one_out()
    changed = exposure.ShadowSignals(signals.odds.copy(), signals.included)
    changed.odds[3, 2] += 100.0  # only its own score and those of the others of this record may change
    again = changed.leave_one_out()
    rest = np.delete(np.arange(16), 3)
    kept = signals.odds[rest][:, [2]], signals.included[rest][:, [2]]
    assert not np.allclose(scores[:, 2], again[:, 2])
    by_hand = _log_ratio(signals.odds[3, 2], *kept, pooled=_pooled(signals))
    assert scores[3, 2] == pytest.approx(by_hand)


def _pooled(signals: exposure.ShadowSignals) -> tuple[float, float]:
    """The variance about the means of records, over all records, included and not."""
    pooled = []
    for side in (signals.included, ~signals.included):
        parts = [values[chosen] for values, chosen in zip(signals.odds.T, side.T)]
        pooled.append(sum(part.var() * part.size for part in parts) / sum(part.size - 1 for part in parts))
    return pooled[0], pooled[1]


def _log_ratio(value: float, odds: Reals, included: Bits, pooled: tuple[float, float]) -> float:
    """The ratio of two normal densities, written out; their variances are drawn to the pooled ones."""
    logs = []
    for side, shared in zip((included, ~included), pooled):
        part = odds[side]
        variance = (part.var() * part.size + 4 * shared) / (part.size - 1 + 4)
        logs.append(stats.norm.logpdf(value, part.mean(), np.sqrt(variance)))
    return float(logs[0] - logs[1])


def test_the_probability_of_membership_is_calibrated() -> None:
    separation = np.random.default_rng(5).uniform(0, 4, 4_000)
    shadows, fresh = gaussian_signals(separation, 32, 6), gaussian_signals(separation, 32, 6)
    model = 7  # taken out of the shadows, as the released model
    rest = np.delete(np.arange(32), model)
    without = exposure.ShadowSignals(shadows.odds[rest], shadows.included[rest])
    released = without.released_scores(fresh.odds[model])
    members = fresh.included[model]
    stated = exposure.membership_probability(without.leave_one_out(), without.included, released)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.01)):
        chosen = (stated >= low) & (stated < high)
        error = 4 * np.sqrt(0.25 / chosen.sum())
        assert members[chosen].mean() == pytest.approx(stated[chosen].mean(), abs=error)


PLAN = """
seed = 5
[[audit]]
name = "forest"
domain = "models"
rounds = 4
data = { source = "synthetic", rows = 300, features = 6, flip = 0.15 }
challenger = { members = 150, targets = 10, reference = 0.3, exposure_shadows = 32, trainer = {
  name = "random_forest", trees = 10 } }
mechanism = { name = "none" }
attacks = [{ name = "lira", shadows = 8 }]
""".replace(", trainer = {\n  name", ", trainer = { name")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    (folder / "plan.toml").write_text(PLAN)
    leakgauge.expose(folder / "plan.toml", out=folder / "run")
    return folder


def test_fresh_models_identify_records_as_often_as_stated(folder: Path) -> None:
    (exposed,) = leakgauge.expose(folder / "plan.toml", out=folder / "again")
    stated = exposed.exposure.against[0].accuracy
    from leakgauge import catalog
    from leakgauge.plan import read_plan

    plan = read_plan(folder / "plan.toml")
    records = catalog.build_challenger(plan.audits[0], plan).exposed_records()
    rng = np.random.default_rng(99)
    included = exposure.draw_inclusion(96, len(records.examples), records.share, rng)
    models = train_shadows(records.examples, included, records.trainer, rng, records.n_members)
    odds = signal_matrix(models, records.examples, log_odds)
    odds = np.clip(odds, -largest_log_odds(odds), largest_log_odds(odds))
    study, fresh = np.arange(32), np.arange(32, 96)
    learned = exposure.ShadowSignals(odds[study], included[study])
    scores = np.array([learned.released_scores(odds[model]) for model in fresh])
    right = ((scores > 0) == included[fresh]).mean(axis=0)
    assert right.mean() == pytest.approx(stated.mean(), abs=0.015)
    most = stated >= np.quantile(stated, 0.8)
    assert right[most].mean() == pytest.approx(stated[most].mean(), abs=0.03)


def test_individuals_are_in_a_file_of_their_owner_alone(folder: Path) -> None:
    people = folder / "run" / "exposure.csv"
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    header, first, *_ = people.read_text().splitlines()
    assert header == "audit,record,black_box_accuracy,black_box_auc,black_box_tpr_at_fpr_0.01"
    assert first.startswith("forest,")
    page = (folder / "run" / "exposure.html").read_text()
    assert "hard for models without it: most extreme 5%" in page
    assert "records" in page


def test_groups_too_small_to_be_shown_are_counted(folder: Path) -> None:
    (exposed,) = leakgauge.expose(folder / "plan.toml", out=folder / "groups")
    sizes = {(group.group, group.value): group.people for group in exposed.exposure.groups}
    assert sizes["hard for models without it", "most extreme 5%"] == 15
    assert sum(n for (name, _), n in sizes.items() if name == "label") == 300


def test_too_few_shadows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.replace("exposure_shadows = 32", "exposure_shadows = 8"))
    with pytest.raises(BadInput, match="exposure_shadows = 8: each record needs models with and without it"):
        leakgauge.expose(tmp_path / "plan.toml", out=tmp_path / "run")


OWN_PLAN = """
seed = 5
[[audit]]
name = "ours"
domain = "models"
rounds = 1
data = { source = "patients.csv", label = "outcome", member = "member" }
challenger = { game = "given", model = "ours:model", train = "ours:fit", exposure_shadows = 32 }
attacks = [{ name = "loss_threshold" }]
"""
OWN_CODE = """
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

table = np.loadtxt(Path(__file__).with_name("patients.csv"), delimiter=",", skiprows=1)
members = table[:, -1] == 1


def fit(X, y, rng):
    return RandomForestClassifier(15, random_state=int(rng.integers(2**31))).fit(X, y)


model = fit(table[members, :-2], table[members, -2].astype(int), np.random.default_rng(1))
"""


def test_a_finished_model_gives_scores_and_probabilities_that_tell_members(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    features = rng.normal(size=(240, 4))
    outcome = rng.random(240) < 1 / (1 + np.exp(-1.5 * features.sum(axis=1)))
    table = np.column_stack([features, outcome, np.arange(240) % 2 == 0])
    np.savetxt(tmp_path / "patients.csv", table, "%.6g", ",", header="a,b,c,d,outcome,member", comments="")
    (tmp_path / "plan.toml").write_text(OWN_PLAN)
    (tmp_path / "ours.py").write_text(OWN_CODE)
    (exposed,) = leakgauge.expose(tmp_path / "plan.toml", out=tmp_path / "run")
    columns, members = exposed.exposure.columns, np.arange(240) % 2 == 0
    right = ((columns["score"] > 0) == members).mean()
    spread = np.sqrt(0.25 / 240)
    assert right > 0.5 + 4 * spread
    assert right == pytest.approx(exposed.exposure.against[0].accuracy.mean(), abs=3 * spread)
    probability = columns["membership_probability"]
    assert probability[members].mean() - probability[~members].mean() > 0.3
    assert "score,membership_probability" in (tmp_path / "run" / "exposure.csv").read_text().splitlines()[0]


LOSSES_PLAN = """
[[audit]]
name = "losses"
domain = "models"
rounds = 1
data = {{ source = "losses.csv", loss = "loss", loss_kind = "other", name = "id", group = ["site", "sex"] }}
challenger = {{ game = "given", shadows = "shadows.npz"{more} }}
attacks = [{{ name = "lira" }}]
"""


def write_losses(folder: Path, more: str = "") -> Path:
    """Losses whose distribution is known; shadows of which each record is in a random number."""
    rng = np.random.default_rng(9)
    separation = np.where(np.arange(1_000) % 4 == 0, 3.5, 0.0)
    included = rng.random((48, 1_000)) < 0.5
    members = rng.random(1_000) < 0.5
    level = rng.normal(0, 3, 1_000)
    losses = level - np.where(included, separation, 0) + rng.normal(size=included.shape)
    own = level - np.where(members, separation, 0) + rng.normal(size=1_000)
    np.savez(folder / "shadows.npz", losses=losses, included=included)
    rows = [f"{own[i]},{int(members[i])},{'ab'[i % 4 == 0]},{'fm'[i % 2]},patient {i}" for i in range(1_000)]
    (folder / "losses.csv").write_text("\n".join(["loss,member,site,sex,id", *rows]) + "\n")
    (folder / "plan.toml").write_text(LOSSES_PLAN.format(more=more))
    return folder / "plan.toml"


def test_exposure_from_predictions_made_elsewhere_is_the_closed_form(tmp_path: Path) -> None:
    (exposed,) = leakgauge.expose(write_losses(tmp_path), out=tmp_path / "run")
    found, exposed_ones = exposed.exposure.against[0], np.arange(1_000) % 4 == 0
    assert exposed.exposure.names[3] == "patient 3"
    for chosen, separation in ((exposed_ones, 3.5), (~exposed_ones, 0.0)):
        assert found.accuracy[chosen].mean() == pytest.approx(stats.norm.cdf(separation / 2), abs=0.02)
        assert found.auc[chosen].mean() == pytest.approx(stats.norm.cdf(separation / np.sqrt(2)), abs=0.02)
    sizes = {(group.group, group.value): group for group in exposed.exposure.groups}
    assert sizes["site", "b"].people == 250
    assert sizes["site", "b"].accuracy == pytest.approx(stats.norm.cdf(3.5 / 2), abs=0.02)
    assert {"site", "sex", "hard for models without it"} == {group for group, _ in sizes}
    page = (tmp_path / "run" / "exposure.html").read_text()
    assert "site: b" in page
    assert "patient 3" not in page
    assert "patient 3" in (tmp_path / "run" / "exposure.csv").read_text()


def test_named_records_alone_are_stated(tmp_path: Path) -> None:
    path = write_losses(tmp_path, ', targets = { names = ["patient 8", "patient 3"] }')
    (exposed,) = leakgauge.expose(path, out=tmp_path / "run")
    assert exposed.exposure.names.tolist() == ["patient 8", "patient 3"]
    assert exposed.exposure.against[0].accuracy[0] > 0.9
    leakgauge.run(path, out=tmp_path / "run")
    for name in ("report.html", "verdicts.json", "exposure.html", "exposure.json"):
        assert "patient 8" not in (tmp_path / "run" / name).read_text()
    with pytest.raises(BadInput, match=r"no record is called 'patient x'; records are named by data\.name"):
        leakgauge.expose(write_losses(tmp_path, ', targets = { names = ["patient x"] }'), out=tmp_path / "no")


def test_too_few_models_elsewhere_are_refused(tmp_path: Path) -> None:
    path = write_losses(tmp_path)
    with np.load(tmp_path / "shadows.npz") as stored:
        few = {name: values[:6] for name, values in stored.items()}
    np.savez(tmp_path / "shadows.npz", **few)
    with pytest.raises(BadInput, match="exposure needs at least 4 of each for every record"):
        leakgauge.expose(path, out=tmp_path / "run")


def test_targets_of_a_game_are_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [f"{a:.4f},{b:.4f},{int(a > 0)},id{i}" for i, (a, b) in enumerate(rng.normal(size=(80, 2)))]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y,id", *rows]) + "\n")
    plan = PLAN.replace('source = "synthetic", rows = 300, features = 6, flip = 0.15', 'source = "rows.csv"')
    plan = plan.replace('source = "rows.csv"', 'source = "rows.csv", label = "y", name = "id"')
    plan = plan.replace("members = 150, targets = 10", 'members = 20, targets = { names = ["id7", "id41"] }')
    (tmp_path / "plan.toml").write_text(plan)
    from leakgauge import catalog
    from leakgauge.plan import read_plan

    read = read_plan(tmp_path / "plan.toml")
    challenger = catalog.build_challenger(read.audits[0], read)
    records = challenger.exposed_records()
    assert records.names[challenger.game.targets].tolist() == ["id7", "id41"]
    assert not set(challenger.setup.reference) & set(challenger.game.targets)
    assert records.features.shape[1] == 2
