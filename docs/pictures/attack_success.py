"""What attacks reach: against the noise, and against how full cells are."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
from svg_charts import FOLDER, lines, save

import leakgauge
from leakgauge.papers.liu24.figure_7 import ATTACKS, crossover_density, exact_accuracies, with_visitors

EXAMPLE = FOLDER.parent.parent / "examples" / "city-by-hour" / "plan.toml"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
DENSITIES = (1, 2, 3, 5, 7, 10, 15, 25, 50, 100, 250)


def draw_epsilons() -> dict[str, Any]:
    """Play the example at more epsilons: AUC of each attacker, averaged over the targets."""
    before, points, after = EXAMPLE.read_text().partition("[0.5, 1.0]")
    assert points, "the example no longer sweeps over epsilon"
    text = f"{before}{list(EPSILONS)}{after}"
    with TemporaryDirectory() as name:
        plan = Path(name) / "plan.toml"
        plan.write_text(text)
        verdicts = leakgauge.run(plan, out=Path(name) / "run")
    rows = []
    for verdict in verdicts:
        found = verdict.metrics["auc_mean"]
        epsilon = verdict.parameters["mechanism"]["epsilon"]
        rows.append(
            {"label": verdict.label, "x": epsilon, "y": found.value, "low": found.low, "high": found.high}
        )
    labels = list(dict.fromkeys(row["label"] for row in rows))
    x = alt.X(
        "x:Q",
        title="ε of the noise, for one visit",
        scale=alt.Scale(type="log", domain=[0.09, 2.2], nice=False),
        axis=alt.Axis(values=list(EPSILONS)),
    )
    y = alt.Y(
        "y:Q", title="AUC, mean of 10 targets", scale=alt.Scale(domain=[0.5, 1.0]), axis=alt.Axis(grid=True)
    )
    save(lines(rows, labels, x=x, y=y), "epsilon")
    shown: dict[str, Any] = {
        label: {
            str(row["x"]): [round(row[part], 3) for part in ("y", "low", "high")]
            for row in rows
            if row["label"] == label
        }
        for label in labels
    }
    zero = shown["likelihood-zero"]
    shown["caption"] = (
        "Played with the ten targets of the example; bars are 95% intervals. At ε = 1 for one visit, "
        f"somebody who has nothing but the release and the target's trace reaches an AUC of "
        f"{_interval(zero['1.0'])}; at ε = 0.1 it is {_interval(zero['0.1'])}. With a tenth of the trace it "
        f"is {_interval(shown['likelihood-zero-10']['1.0'])} at ε = 1."
    )
    return shown


def _interval(found: list[float]) -> str:
    return f"{found[0]:.2f} ({found[1]:.2f} to {found[2]:.2f})"


def draw_crossover() -> dict[str, Any]:
    """The sum of cells against votes of cells, as cells fill up."""
    rows = [
        {"label": attack, "x": with_visitors(n).usual, "y": exact_accuracies(with_visitors(n))[attack]}
        for n in DENSITIES
        for attack in ATTACKS
    ]
    x = alt.X(
        "x:Q",
        title="others usual in a cell",
        scale=alt.Scale(type="log", domain=[0.18, 55], nice=False),
        axis=alt.Axis(values=[0.2, 1, 2, 5, 10, 20, 50]),
    )
    y = alt.Y(
        "y:Q", title="accuracy", scale=alt.Scale(domain=[0.5, 1.0]), axis=alt.Axis(grid=True, format="%")
    )
    save(lines(rows, ATTACKS, x=x, y=y), "crossover")
    at = {f"{row['label']}, {row['x']:g}": round(row["y"], 3) for row in rows}
    sparse, dense = ([at[f"{attack}, {n}"] for attack in ATTACKS] for n in ("0.2", "20"))
    caption = (
        "The accuracy of three attacks on sixty cells with Laplace noise of ε = 0.5 each, for somebody who "
        f"knows how many others are usual there. With 0.2 others the sum is right {sparse[0]:.1%} of the "
        f"time, votes {sparse[1]:.1%}, the likelihood {sparse[2]:.1%}; with 20 others {dense[0]:.1%}, "
        f"{dense[1]:.1%} and {dense[2]:.1%}. Votes win below {crossover_density():.1f} others."
    )
    return {"caption": caption, "crossing": round(crossover_density(), 3), "at": at}
