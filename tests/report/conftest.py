"""Made-up verdicts: every kind of finding, with numbers that belong together."""

import html
import re

import numpy as np
import pytest

from leakgauge.referee.estimate import Estimate
from leakgauge.verdict import Finding, Verdict


def estimate(value, low=None, high=None, **changes):
    return Estimate(
        **{"value": value, "low": low, "high": high, "confidence": 0.95, "method": "jackknife"} | changes
    )


def laplace_roc(epsilon, n=500):
    """The exact ROC curve of one Laplace count moved by one: steep, then flat."""
    fpr = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1, n // 2), np.linspace(0, 1, n - n // 2 - 1)]))
    growth = np.exp(epsilon)
    middle = 1 - np.exp(-epsilon) / (4 * np.maximum(fpr, 1e-12))
    tpr = np.select([fpr <= 0.5 / growth, fpr <= 0.5], [growth * fpr, middle], 1 - (1 - fpr) / growth)
    return {"fpr": fpr.tolist(), "tpr": np.clip(tpr, 0, 1).tolist()}


def pure_bound(epsilon):
    """The three corners that pure epsilon-DP allows."""
    corner = 1 / (1 + np.exp(epsilon))
    return {"fpr": [0.0, float(corner), 1.0], "tpr": [0.0, float(1 - corner), 1.0]}


def verdict(**changes):
    """A verdict that is not violated, changed as asked."""
    usual = {
        "audit": "counts-by-hour",
        "domain": "blackbox",
        "label": "likelihood-auxiliary",
        "attack": "likelihood",
        "knowledge": "auxiliary",
        "parameters": {
            "data": {"source": "synthetic", "users": 5000},
            "challenger": {"relation": "add_remove"},
            "mechanism": {"name": "laplace", "epsilon": 1.0},
            "attack": {},
        },
        "seed": 20240501,
        "rounds": 2000,
        "n_targets": 1,
        "coins": "fair",
        "metrics": {
            "epsilon": estimate(0.93, 0.7654, method="one run, 13 guess fractions (Bonferroni)"),
            "accuracy": estimate(0.7012, 0.6811, 0.7213),
            "advantage": estimate(0.4024, 0.3622, 0.4426),
            "auc": estimate(0.7101, 0.6887, 0.7315),
            "tpr_at_fpr_0.1": estimate(0.248, 0.211, 0.287),
            "tpr_at_fpr_0.01": estimate(0.0265, 0.0141, 0.0447),
            "tpr_at_fpr_0.001": estimate(0.0021, 0.0, 0.0072),
        },
        "bounds": {
            "epsilon": 1.0,
            "accuracy": 0.7311,
            "auc": 0.7311,
            "tpr_at_fpr_0.1": 0.2718,
            "tpr_at_fpr_0.01": 0.02718,
            "tpr_at_fpr_0.001": 0.002718,
        },
        "promised": {
            "epsilon": 1.0,
            "delta": 0.0,
            "relation": "add_remove",
            "unit": "user",
            "nominal": {"epsilon": 0.1, "unit": "event"},
            "exact_epsilon": 1.0,
        },
        "finding": Finding.NOT_VIOLATED,
        "corrected_for": 1,
        "rounds_needed": None,
        "stopped_early": False,
        "roc": laplace_roc(0.93),
        "bound_roc": pure_bound(1.0),
        "per_target": [],
        "instrument": {
            "null": {"draws": 200, "rate": 0.035, "low": 0.0142, "high": 0.0708},
            "planted": {"epsilon": 0.1703, "violating_epsilon": 1.2104, "found": 0.815, "draws": 200},
        },
    }
    return Verdict(**usual | changes)


def violated(**changes):
    better = {
        "label": "learned-event",
        "attack": "learned_event",
        "knowledge": "neighbours",
        "finding": Finding.VIOLATED,
        "metrics": {
            "epsilon": estimate(1.97, 1.4399, method="one run, 13 guess fractions (Bonferroni)"),
            "accuracy": estimate(0.8644, 0.8493, 0.8795),
            "auc": estimate(0.9203, 0.9081, 0.9325),
            "tpr_at_fpr_0.1": estimate(0.71, 0.66, 0.76),
            "tpr_at_fpr_0.01": estimate(0.0712, 0.0403, 0.1102),
            "tpr_at_fpr_0.001": estimate(0.0102, 0.0, 0.0207),
        },
        "roc": laplace_roc(1.97),
    }
    return verdict(**better | changes)


def undecided(**changes):
    few = {
        "label": "one-threshold",
        "attack": "one_threshold",
        "finding": Finding.UNDECIDED,
        "rounds": 20,
        "rounds_needed": 66048,
        "promised": {"epsilon": 10.0, "delta": 1e-5, "relation": "replace_one", "unit": "record"},
        "bounds": {"epsilon": 10.0, "accuracy": 0.99996},
        "metrics": {
            "epsilon": estimate(0.4, 0.0),
            "accuracy": estimate(0.6, reason="fewer than 30 rounds: no interval is sound"),
        },
        "roc": {"fpr": [0.0, 0.0, 0.4, 1.0], "tpr": [0.0, 0.2, 0.6, 1.0]},
        "bound_roc": pure_bound(10.0),
    }
    return verdict(**few | changes)


def unpromised(**changes):
    bare = {
        "label": "scores",
        "attack": "scores",
        "knowledge": "unknown",
        "coins": "given",
        "promised": None,
        "finding": None,
        "bounds": {},
        "bound_roc": None,
        "instrument": {},
    }
    return verdict(**bare | changes)


def many_targets(n_targets=50, **changes):
    rng = np.random.default_rng(5)
    exposed = np.sort(rng.beta(6, 2, n_targets))[::-1]
    rows = [
        {"target": int(place), "metrics": {"auc": float(auc), "accuracy": float(auc) - 0.05}}
        for place, auc in zip(rng.permutation(n_targets), exposed, strict=True)
    ]
    return verdict(**{"n_targets": n_targets, "per_target": rows, "label": "shared-rounds"} | changes)


def sweep():
    """Twelve audits: six epsilons by two suppressions."""
    verdicts = []
    for suppress in (0, 1):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            shown = epsilon * (0.8 - 0.2 * suppress)
            accuracy, bound = (float(1 / (1 + np.exp(-e))) for e in (shown, epsilon))
            verdicts.append(
                verdict(
                    audit=f"city@epsilon={epsilon},suppress={suppress}",
                    metrics={
                        "epsilon": estimate(shown * 1.1, shown),
                        "accuracy": estimate(accuracy, max(accuracy - 0.02, 0.5), min(accuracy + 0.02, 1.0)),
                        "auc": estimate(accuracy, max(accuracy - 0.02, 0.5), min(accuracy + 0.02, 1.0)),
                    },
                    bounds={"epsilon": epsilon, "accuracy": bound},
                    promised={"epsilon": epsilon, "delta": 0.0, "relation": "add_remove", "unit": "user"},
                    corrected_for=12,
                    roc=laplace_roc(shown),
                    bound_roc=pure_bound(epsilon),
                )
            )
    return verdicts


KINDS = {
    "not violated": verdict,
    "violated": violated,
    "undecided": undecided,
    "unpromised": unpromised,
    "many targets": many_targets,
}


@pytest.fixture(scope="session")
def make():
    """Build a made-up verdict of some kind: ``make("violated", audit="mine")``."""
    return lambda kind="not violated", **changes: KINDS[kind](**changes)


@pytest.fixture(scope="session")
def make_estimate():
    return estimate


@pytest.fixture(scope="session")
def swept():
    return sweep()


@pytest.fixture(scope="session")
def every_kind():
    """One report with everything in it."""
    return [
        violated(),
        verdict(),
        undecided(audit="big-promise"),
        unpromised(audit="file"),
        many_targets(audit="crowd"),
        *sweep(),
    ]


@pytest.fixture(scope="session")
def manifest():
    return {
        "digest": "9f2c1e0a7b",
        "versions": {"leakgauge": "0.1.0", "numpy": "2.4.6"},
        "seed": 20240501,
        "plan": 'seed = 20240501\n\n[[audit]]\nname = "counts-by-hour"\n',
    }


@pytest.fixture(scope="session")
def plain():
    """What a reader reads: the text of some HTML, without tags and with single spaces."""

    def read(markup):
        text = html.unescape(
            re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", str(markup), flags=re.DOTALL))
        )
        return re.sub(r"\s+", " ", text)

    return read
