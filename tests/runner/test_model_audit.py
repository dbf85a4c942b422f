"""A finished model in memory: audit_model on models of scikit-learn and torch, tables and predictions."""

import json

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve

import leakgauge
from leakgauge.core.errors import BadInput

SHADOWS = 16


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def data(n=300, seed=0, features=12, classes=3):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, features))
    scores = rows @ rng.normal(size=(features, classes)) + 1.5 * rng.normal(size=(n, classes))
    return rows, scores.argmax(axis=1)


def fit_cnn(X, y, rng):
    """A small convolutional network on images of 8 x 8."""
    import torch

    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    net = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        torch.nn.Conv2d(1, 8, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 36, 3),
    )
    for weights in net.parameters():
        torch.nn.init.normal_(weights, std=0.1, generator=generator)
    images, labels = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()

    def chances(rows):  # in single precision, as a network answers
        return torch.softmax(net(torch.as_tensor(rows, dtype=torch.float32)), 1).detach().numpy()

    return chances


def fit_estimator(estimator):
    def fit(X, y, rng):
        state = {"random_state": int(rng.integers(2**31))}
        return estimator(**state).fit(X, y).predict_proba

    return fit


def forest(**parameters):
    return RandomForestClassifier(40, **parameters)


def boosting(**parameters):
    return GradientBoostingClassifier(n_estimators=30, max_depth=4, subsample=0.8, **parameters)


def logistic(**parameters):
    return LogisticRegression(C=100.0, **parameters)


KINDS = {
    "forest": (fit_estimator(forest), 12),
    "boosting": (fit_estimator(boosting), 12),
    "logistic": (fit_estimator(logistic), 60),
    "cnn": (fit_cnn, 64),
}


def published_lira(odds, included, seen):
    """Carlini et al. 2022, online with a global variance: one Gaussian for each side of each record."""
    ratio = np.zeros(seen.size)
    for sign, side in ((1, included), (-1, ~included)):
        columns = [odds[side[:, j], j] for j in range(seen.size)]
        mean = np.array([column.mean() for column in columns])
        squares = sum(((column - centre) ** 2).sum() for column, centre in zip(columns, mean))
        variance = squares / sum(column.size - 1 for column in columns)
        ratio += sign * (-((seen - mean) ** 2) / (2 * variance) - np.log(variance) / 2)
    return ratio


def published_rmia(chances, included, seen):
    """Zarifzadeh et al. 2024, online: the share of other records whose ratio p / mean p is smaller."""
    usual = np.array(
        [(chances[side, j].mean() + chances[~side, j].mean()) / 2 for j, side in enumerate(included.T)]
    )
    ratios = seen / usual
    return (ratios[:, None] >= ratios[None]).mean(axis=1)


def tpr_at_one_percent(fpr, tpr):
    return max(found for wrong, found in zip(fpr, tpr) if wrong <= 0.01)


@pytest.mark.parametrize(
    "kind",
    ["forest", "logistic", pytest.param("boosting", marks=pytest.mark.nightly), "cnn"],
)
def test_lira_and_rmia_agree_with_published_formulas_on_the_same_shadows(kind):
    fit, features = KINDS[kind]
    rows, labels = data(features=features)
    rng, n = np.random.default_rng(3), len(rows)
    included = rng.permuted(np.tile(np.arange(SHADOWS)[:, None], n), axis=0) < SHADOWS // 2
    said = np.array([fit(rows[one], labels[one], rng)(rows) for one in included])
    members = np.arange(n) < n // 2
    model = fit(rows[members], labels[members], rng)
    result = leakgauge.audit_model(
        model,
        rows[members],
        labels[members],
        rows[~members],
        labels[~members],
        shadows={"probabilities": said, "included": included},
        attacks=["lira", "rmia"],
    )
    is_label = labels[:, None] == np.arange(3)

    def true(chances):
        return np.where(is_label, chances, 0).sum(axis=-1, dtype=np.float64)

    def odds(chances):  # as in the published code: the other classes are summed, for 1 - p is rounded
        others = np.where(is_label, 0, chances).sum(axis=-1, dtype=np.float64)
        return np.log(true(chances) + 1e-45) - np.log(others + 1e-45)

    def bounded(values):  # where a forest is certain: one beyond the largest log-odds of a shadow that is not
        shadow = np.abs(odds(said))
        largest = shadow[shadow < 30].max() + 1 if (shadow > 100).any() else np.inf
        return np.clip(values, -largest, largest)

    formulas = {
        "lira": published_lira(bounded(odds(said)), included, bounded(odds(model(rows)))),
        "rmia": published_rmia(true(said), included, true(model(rows))),
    }
    for found in result:
        scores = formulas[found.attack]
        assert abs(found.metrics["auc"].value - roc_auc_score(members, scores)) < 0.02
        expected = tpr_at_one_percent(*roc_curve(members, scores)[:2])
        noise = 2 * np.sqrt(max(expected * (1 - expected), 0.02) / members.sum())
        assert abs(tpr_at_one_percent(found.roc["fpr"], found.roc["tpr"]) - expected) < noise
        assert roc_auc_score(members, scores) > 0.7  # there is something to find


@pytest.fixture(scope="module")
def trained():
    rows, labels = data(seed=1)
    members = np.arange(len(rows)) % 2 == 0
    return rows, labels, members, forest(random_state=1).fit(rows[members], labels[members])


def audit(trained, **options):
    rows, labels, members, model = trained
    return leakgauge.audit_model(
        model, rows[members], labels[members], rows[~members], labels[~members], **options
    )


def auc(result, attack):
    (found,) = (one for one in result if one.attack == attack)
    return found.metrics["auc"].value


def test_members_given_as_others_too_are_refused(trained):
    rows, labels, members, model = trained
    own = rows[members], labels[members]
    with pytest.raises(BadInput, match="X_others: the same rows as X_members"):
        leakgauge.audit_model(model, *own, *own)


def test_others_who_are_among_the_members_are_a_warning(trained):
    rows, labels, members, model = trained
    others = rows[~members].copy(), labels[~members].copy()
    others[0][:20], others[1][:20] = rows[members][:20], labels[members][:20]
    result = leakgauge.audit_model(model, rows[members], labels[members], *others)
    (warning,) = result.summary.warnings
    assert warning.startswith("20 of 150 others are rows of the members too")


def test_interchanged_members_and_others_are_not_cleared(trained):
    rows, labels, members, model = trained
    result = leakgauge.audit_model(
        model, rows[~members], labels[~members], rows[members], labels[members], limits={"accuracy": 0.6}
    )
    assert result.summary.exit_code == 3
    assert "check who is called a member" in result.summary.risk.reason


def test_shadows_of_the_same_estimator_recognise_members(trained):
    result = audit(trained, train=RandomForestClassifier(40), attacks=[{"name": "lira", "shadows": 16}])
    assert auc(result, "lira") > 0.9
    assert result[0].instrument["control"]["status"] == "not possible"
    assert any("your own training code" in note for note in result.notes)


def recorded_shadows(trained, kind=lambda seed: RandomForestClassifier(20, random_state=seed), n=20):
    """Predictions about members, then others, and which rows each model was trained on."""
    rows, labels, members, _ = trained
    rows, labels = (np.concatenate([part[members], part[~members]]) for part in (rows, labels))
    rng = np.random.default_rng(5)
    included = rng.permuted(np.tile(np.arange(n)[:, None], len(rows)), axis=0) < n // 2
    said = [kind(i).fit(rows[one], labels[one]).predict_proba(rows) for i, one in enumerate(included)]
    return np.array(said), included


UNLIKE = {
    "models in another order": lambda said, included: (said, included[np.roll(np.arange(len(said)), 3)]),
    "rows in another order": lambda said, included: (
        said[:, np.random.default_rng(6).permutation(300)],
        included,
    ),
    "who was included": lambda said, included: (said, np.random.default_rng(7).random(included.shape) < 0.5),
}


@pytest.mark.parametrize("change", UNLIKE.values(), ids=UNLIKE)
def test_shadows_that_say_nothing_about_the_model_clear_nobody(trained, change):
    said, included = change(*recorded_shadows(trained))
    options = {"attacks": ["lira"], "limits": {"accuracy": 0.7}}
    wrong = audit(trained, shadows={"probabilities": said, "included": included}, **options)
    assert wrong.summary.exit_code == 3
    assert "the shadow models are not like the model" in wrong.summary.risk.reason


def test_shadows_of_another_training_clear_nobody(trained):
    attack = {"name": "lira", "shadows": 16}
    options = {"attacks": [attack], "limits": {"accuracy": 0.8}}
    wrong = audit(trained, train=LogisticRegression(), **options)
    assert wrong.summary.exit_code == 3
    assert "the shadow models are not like the model" in wrong.summary.risk.reason
    again = wrong.check({"accuracy": 0.85})
    assert "the shadow models are not like the model" in again.risk.reason


@pytest.mark.parametrize("seed", range(4))
def test_shadows_of_the_same_training_are_like_the_model(seed):
    rows, labels = data(seed=seed)
    members = np.random.default_rng(seed).permutation(len(rows)) < 150
    for kind in (logistic(), forest(), RandomForestClassifier(20, max_depth=2)):
        model = kind.fit(rows[members], labels[members])
        attack = {"name": "lira", "shadows": 16}
        made = audit((rows, labels, members, model), train=kind, attacks=[attack], limits={"accuracy": 0.99})
        assert "not like the model" not in (made.summary.risk.reason or "")


def test_too_few_rows_for_shadows_name_the_argument(trained):
    attack = {"name": "lira", "shadows": 16, "mode": "offline"}
    with pytest.raises(BadInput, match=r"would have 0 rows.*or pass reference=\(X, y\)"):
        audit(trained, train=LogisticRegression(), attacks=[attack])


def test_online_rmia_of_a_balanced_model_needs_no_reference(trained):
    """Neither where membership was given, nor where it was randomised and few slots are left to fill."""
    attack = {"name": "rmia", "shadows": 8}
    for options in ({}, {"randomised": True, "reference": data(120, seed=2)}):
        result = audit(trained, train=RandomForestClassifier(20), attacks=[attack], **options)
        assert auc(result, "rmia") > 0.9
        assert result[0].studied["population"] == (120 if options else 300)


def test_result_can_be_shown_saved_and_checked(trained, tmp_path):
    result = audit(trained)
    frame = result.to_frame()
    assert {"attacker", "metric", "value", "low", "high"} <= set(frame.columns)
    assert "loss_threshold" in result._repr_html_()
    text = result.save_report(tmp_path / "report.html").read_text()
    assert "records in memory: 150 members, 150 others" in text
    assert result.check({"auc": 0.6}).exit_code == 1
    assert result.check({"auc": 0.999}).exit_code == 0
    with pytest.raises(BadInput, match=r"name it report\.html"):
        result.save_report(tmp_path / "report.pdf")
    verdict = result[0]
    assert len(verdict.to_frame()) == len(verdict.metrics)
    json.dumps(leakgauge.verdict.verdicts_to_json(result))


def test_data_frames_and_files_give_the_same_numbers(trained, tmp_path):
    import pandas as pd
    import polars as pl

    rows, labels, members, _ = trained
    names = [f"x{i}" for i in range(rows.shape[1])]
    frame = pd.DataFrame(rows, columns=names)
    model = forest(random_state=1).fit(frame[members], labels[members])
    whole = frame.assign(y=labels)
    parts = [whole[members], whole[~members]]
    for name, part in zip(("in", "out"), parts):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    expected = auc(leakgauge.audit_model(model, parts[0], "y", parts[1], "y"), "loss_threshold")

    def by_names(table):
        values = table.to_numpy() if hasattr(table, "to_numpy") else table
        return model.predict_proba(pd.DataFrame(values, columns=names))

    polars = [pl.DataFrame(part.to_dict("list")) for part in parts]
    for name, table in zip(("in", "out"), polars):
        table.write_parquet(tmp_path / f"{name}.parquet")
    forms = [
        [polars[0], "y", polars[1], "y"],
        [str(tmp_path / "in.csv"), "y", str(tmp_path / "out.csv"), "y"],
        [str(tmp_path / "in.parquet"), "y", str(tmp_path / "out.parquet"), "y"],
    ]
    for form in forms:
        assert auc(leakgauge.audit_model(by_names, *form), "loss_threshold") == pytest.approx(expected)


def test_losses_of_any_sign_are_compared_as_they_are():
    """A regression: shadow losses and those of the model are shifted, which changes no attack."""
    rng = np.random.default_rng(5)
    included = rng.permuted(np.tile(np.arange(SHADOWS)[:, None], 400), axis=0) < SHADOWS // 2
    hard = rng.gamma(2.0, size=400)
    members = np.arange(400) < 200
    losses = hard - 0.8 * included + rng.normal(size=included.shape) * 0.3
    seen = hard - 0.8 * members + rng.normal(size=400) * 0.3
    attacks = [
        {"name": "loss_threshold", "threshold": "optimal", "knowledge": "black_box"},
        "calibrated_loss",
        "lira",
        "rmia",
        "base_ratio",
    ]
    found = [
        leakgauge.audit_model(
            None,
            seen[:200] + shift,
            None,
            seen[200:] + shift,
            None,
            shadows={"losses": losses + shift, "included": included},
            attacks=attacks,
        )
        for shift in (-10.0, -7.0)
    ]
    for one, other in zip(*found):
        assert one.metrics["auc"].value == pytest.approx(other.metrics["auc"].value)
    usual = np.array([losses[~side, j].mean() for j, side in enumerate(included.T)])
    assert auc(found[0], "calibrated_loss") == pytest.approx(roc_auc_score(members, usual - seen))
    assert auc(found[0], "loss_threshold") == pytest.approx(roc_auc_score(members, -seen))
    ratio = -seen - np.log(np.exp(-losses).mean(axis=0))
    assert auc(found[0], "base_ratio") == pytest.approx(roc_auc_score(members, ratio))
    assert auc(found[0], "lira") > auc(found[0], "loss_threshold") + 0.1


def test_model_with_classes_in_another_order_is_refused(trained):
    rows, labels, members, model = trained

    def shifted(given):
        return np.roll(model.predict_proba(given), 1, axis=1)

    with pytest.raises(BadInput, match=r"right about \d+% of the rows.*these classes in another order"):
        audit((rows, labels, members, shifted))
    assert len(audit((rows, labels, members, shifted), accuracy_check=False)) == 1


@pytest.mark.parametrize("accuracy", [0.85, 0.7, 0.62])
def test_two_classes_in_another_order_are_refused(accuracy):
    """A model that is right about 85 % of its rows is right about 15 % of them with its columns swapped."""
    rng = np.random.default_rng(7)
    labels = rng.integers(2, size=2000)
    said = np.where(rng.random(2000) < accuracy, labels, 1 - labels)
    rows, members = np.column_stack([np.arange(2000), said]).astype(float), np.arange(2000) < 1000

    def model(given):
        return np.eye(2)[given[:, 1].astype(int)] * 0.8 + 0.1

    assert len(audit((rows, labels, members, model), attacks=["loss_threshold"])) == 1

    def swapped(given):
        return model(given)[:, ::-1]

    with pytest.raises(BadInput, match=r"right about \d+% of the rows.*the wrong columns: name the classes"):
        audit((rows, labels, members, swapped))


def test_honest_models_that_learned_nothing_are_not_refused():
    """Guesses, of any frequency of the classes, are far below guesses at most once in 30,000 times."""
    rng = np.random.default_rng(8)
    for share in (0.5, 0.2, 0.05):
        for _ in range(20):
            labels = (rng.random(400) < share).astype(int)
            rows = rng.random((400, 1))

            def guess(given, share=share):
                return np.column_stack([given[:, 0], 1 - given[:, 0]]) * 0.2 + [[0.8 - share, share]]

            assert len(audit((rows, labels, np.arange(400) < 200, guess), attacks=["loss_threshold"])) == 1


def test_columns_of_a_file_in_another_order_are_refused(trained, tmp_path):
    import pandas as pd

    rows, labels, members, _ = trained
    names = [f"x{i}" for i in range(rows.shape[1])]
    frame = pd.DataFrame(rows, columns=names)
    model = forest(random_state=1).fit(frame[members], labels[members])
    for order, name in ((names, "same"), (names[::-1], "other")):
        frame[order].assign(y=labels).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(BadInput, match=r"another order.*features = \['x0', 'x1'"):
        leakgauge.audit_model(model, *[str(tmp_path / "other.csv"), "y"] * 2)


def test_model_that_is_probably_misread_is_noted():
    """With two classes, features in another order leave half of the answers right: too many to refuse."""
    rng = np.random.default_rng(4)
    rows, members = rng.normal(size=(300, 4)), np.arange(300) < 150
    labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    labels[:20] = labels[150:170] = 1  # the most frequent class of both

    def memory(given):
        known = np.isclose(given[:, None, 0], rows[members][None, :, 0])
        said = np.where(known.any(axis=1), labels[members][known.argmax(axis=1)], 0)
        return np.eye(2)[said] * 0.8 + 0.1

    def notes(rows, members):
        result = audit((rows, labels, members, memory), attacks=["loss_threshold"])
        return [note for note in result.notes if note.startswith("beware")]

    assert notes(rows, members) == []
    assert "features are in another order" in notes(rows[:, ::-1], members)[0]


def test_members_and_others_interchanged_are_noted(trained):
    rows, labels, members, model = trained
    result = audit((rows, labels, ~members, model), attacks=["loss_threshold"])
    assert any("check whether the two are interchanged" in note for note in result.notes)


def test_model_of_many_classes_with_features_in_another_order_is_noted():
    """Ten classes, each with a feature of its own; other features leave nothing but guesses in any order."""
    rng = np.random.default_rng(2)
    labels = rng.integers(10, size=400)
    rows = rng.normal(size=(400, 10)) * 0.3 + np.eye(10)[labels] * np.arange(1, 11)
    members = np.arange(400) < 200
    model = forest(random_state=1).fit(rows[members], labels[members])
    constant = rows * 0.0 + rows.mean(axis=0)
    result = audit((constant[:, ::-1], labels, members, model), attacks=["loss_threshold"])
    assert any("features are in another order" in note for note in result.summary.warnings)


def test_classes_named_in_another_order_are_refused(trained):
    """A model that names its classes, but not in the order of its columns."""
    rows, labels, members, _ = trained
    named = np.array(["b", "c", "a"])[labels]
    model = forest(random_state=1).fit(rows[members], named[members])
    assert len(audit((rows, named, members, model), attacks=["loss_threshold"])) == 1
    model.classes_ = np.array(["b", "a", "c"])
    with pytest.raises(BadInput, match=r"name the classes in the order of the columns \(classes_\)"):
        audit((rows, named, members, model))


def test_rows_of_others_are_those_of_members(trained, tmp_path):
    """Columns are matched by name, and rows with other columns are refused, not filled up."""
    import pandas as pd
    import polars

    rows, labels, members, model = trained
    names = [f"x{i}" for i in range(rows.shape[1])]
    wanted = auc(audit(trained, attacks=["loss_threshold"]), "loss_threshold")

    def chances(given):
        return model.predict_proba(np.asarray(given)[:, : rows.shape[1]])

    def found(first, other):
        halves = first, labels[members], other, labels[~members]
        return auc(leakgauge.audit_model(chances, *halves, attacks=["loss_threshold"]), "loss_threshold")

    for library in (pd.DataFrame, polars.DataFrame):
        own = library(dict(zip(names, rows[members].T)))
        other = library(dict(zip(names[::-1], rows[~members].T[::-1])))
        assert found(own, other) == pytest.approx(wanted)
        with pytest.raises(BadInput, match=r"X_others: its columns are not those of X_members.* x2$"):
            found(own, other[[name for name in names if name != "x2"]])
    for part, order, name in ((members, names, "members"), (~members, names[::-1], "others")):
        frame = pd.DataFrame(rows[part], columns=names)[order].assign(y=labels[part])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / "members.csv"), "y", str(tmp_path / "others.csv"), "y"]
    assert auc(leakgauge.audit_model(chances, *files, attacks=["loss_threshold"]), "loss_threshold") == (
        pytest.approx(wanted)
    )
    with pytest.raises(
        BadInput, match=r"X_others: rows of shape \(11,\), and those of X_members have \(12,\)"
    ):
        found(rows[members], rows[~members][:, 1:])


def test_messages_count_rows_as_the_caller_does(trained):
    rows, labels, members, model = trained
    wrong = labels[~members].copy()
    wrong[4] = 9
    place = int(members.sum()) + 4
    message = rf"^y: the label in row {place} \(counted from 0, members first, then others\) is not a class"
    with pytest.raises(BadInput, match=message):
        leakgauge.audit_model(model, rows[members], labels[members], rows[~members], wrong)


def test_torch_module_as_training_is_refused(trained):
    import torch

    with pytest.raises(BadInput, match=r"train: this is a torch module \(Linear\).*a tuple of a function"):
        audit(trained, train=torch.nn.Linear(12, 3))


def test_model_names_its_classes(trained):
    rows, labels, members, _ = trained
    named = np.array(["b", "c", "a"])[labels]
    model = forest(random_state=1).fit(rows[members], named[members])
    assert auc(audit((rows, named, members, model)), "loss_threshold") == pytest.approx(
        auc(audit(trained), "loss_threshold")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": 3}, "of type int"),
        ({"shadows": {"losses": np.zeros((2, 3))}}, "needs the arrays included"),
        ({"shadows": {"losses": np.zeros((2, 3)), "included": np.zeros((2, 3))}}, "each of the 300 rows"),
        ({"attacks": ["lira"]}, "or state it: train,"),
        ({"attacks": ["no such"]}, "no attack"),
        ({"epsilon": 1.0}, "randomised = true"),
        ({"reference": 3}, "tuple of rows and labels"),
    ],
)
def test_bad_arguments_are_named_in_one_line(trained, change, message):
    with pytest.raises(BadInput, match=message) as refusal:
        audit(trained, **change)
    assert "\n" not in str(refusal.value)


def test_model_file_of_weights_gets_a_clear_message(trained):
    rows, labels, members, _ = trained
    with pytest.raises(BadInput, match="holds weights but not the network"):
        audit((rows, labels, members, "net.safetensors"))


def test_cost_is_said_before_long_trainings(trained, capsys, monkeypatch):
    from leakgauge.runner import model_audit

    monkeypatch.setattr(model_audit, "LONG", 0.0)
    attacks = [{"name": name, "shadows": 6} for name in ("lira", "rmia")]
    audit(trained, train=RandomForestClassifier(5), attacks=attacks)
    assert "6 trainings, about" in capsys.readouterr().err


WEAK = {"accuracy": 0.99}


def test_an_estimator_is_cloned_for_16_shadows_and_says_so(trained, capsys):
    result = audit(trained, limits={"auc": 0.9999})
    assert [one.attack for one in result] == ["loss_threshold", "lira", "rmia", "base_ratio"]
    assert {one.studied["shadows"] for one in result[1:]} == {16}
    said = capsys.readouterr().err
    assert "16 trainings, about" in said
    assert "clones of RandomForestClassifier" in said
    assert 'attacks=["loss_threshold"] leaves them out' in said
    assert result.summary.risk.status == "within"


def test_no_model_is_within_a_limit_by_its_losses_alone(trained):
    rows, labels, members, model = trained
    for parts, more in (
        ([model, rows[members], labels[members], rows[~members], labels[~members]], {}),
        ([model.predict_proba, rows[members], labels[members], rows[~members], labels[~members]], {}),
        ([None, np.linspace(1, 2, 150), None, np.linspace(1, 2.1, 150), None], {}),
    ):
        result = leakgauge.audit_model(*parts, attacks=["loss_threshold"], limits=WEAK, **more)
        assert (result.summary.risk.status, result.summary.exit_code) == ("undecided", 3)
        assert "not compared with shadow models of its own" in result.summary.reasons[0]
    over = leakgauge.audit_model(
        model,
        rows[members],
        labels[members],
        rows[~members],
        labels[~members],
        attacks=["loss_threshold"],
        limits={"accuracy": 0.6},
    )
    assert over.summary.exit_code == 1


def test_losses_of_other_models_let_a_table_of_losses_be_within_a_limit():
    rng = np.random.default_rng(4)
    losses, included = rng.exponential(size=(16, 400)), rng.random((16, 400)) < 0.5
    found = leakgauge.audit_model(
        None,
        losses[0, :200],
        None,
        losses[1, 200:],
        None,
        shadows={"losses": losses, "included": included},
        limits={"accuracy": 0.7},
    )
    assert found.summary.risk.status == "within"


@pytest.mark.parametrize("n_members", [30, 270])
def test_unequal_parts_leave_rows_for_shadows(n_members):
    rows, labels = data()
    members = np.arange(300) < n_members
    model = forest(random_state=1).fit(rows[members], labels[members])
    result = leakgauge.audit_model(model, rows[members], labels[members], rows[~members], labels[~members])
    assert len(result) == 4
