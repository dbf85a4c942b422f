"""What attacks reach: against the noise, and against how full cells are."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
from svg_charts import FOLDER, lines, save

import leakgauge
from leakgauge.papers.liu24.figure_7 import ATTACKS, crossover_density, exact_accuracies, with_visitors
from leakgauge.report.number_format import lower_percent, percent, upper_percent

EXAMPLE = FOLDER.parent.parent / "examples" / "city-by-hour" / "plan.toml"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
DENSITIES = (1, 2, 3, 5, 7, 10, 15, 25, 50, 100, 250)


def draw_epsilons() -> dict[str, Any]:
    """Run the example at more epsilons: how often each attacker is right, at its own threshold."""
    before, points, after = EXAMPLE.read_text().partition("[0.5, 1.0]")
    assert points, "the example no longer sweeps over epsilon"
    text = f"{before}{list(EPSILONS)}{after}"
    with TemporaryDirectory() as name:
        plan = Path(name) / "plan.toml"
        plan.write_text(text)
        verdicts = leakgauge.run(plan, out=Path(name) / "run")
    rows = []
    for verdict in verdicts:
        found, worst = verdict.metrics["accuracy_own"], verdict.metrics["accuracy_worst"]
        epsilon = verdict.parameters["mechanism"]["epsilon"]
        row = {"label": verdict.label, "x": epsilon, "y": found.value, "low": found.low, "high": found.high}
        rows.append({**row, "worst": [worst.value, worst.low, worst.high]})
    labels = list(dict.fromkeys(row["label"] for row in rows))
    x = alt.X(
        "x:Q",
        title="ε of the noise, for one visit",
        scale=alt.Scale(type="log", domain=[0.09, 2.2], nice=False),
        axis=alt.Axis(values=list(EPSILONS)),
    )
    y = alt.Y(
        "y:Q",
        title="correct identifications, mean of 10 targets",
        scale=alt.Scale(domain=[0.45, 1.0], nice=False),
        axis=alt.Axis(grid=True, format="%", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
    )
    save(lines(rows, labels, x=x, y=y), "epsilon")
    shown: dict[str, Any] = {
        label: {
            str(row["x"]): {
                "own": [round(row[part], 6) for part in ("y", "low", "high")],
                "worst": [round(part, 6) for part in row["worst"]],
            }
            for row in rows
            if row["label"] == label
        }
        for label in labels
    }
    informed, zero, tenth = (shown[f"likelihood-{name}"]["1.0"] for name in ("informed", "zero", "zero-10"))
    shown["caption"] = (
        "Simulated with the ten targets of `examples/city-by-hour`; every attack uses the threshold that it "
        "fixed itself, and bars are 95% intervals. At ε = 1 for one visit, an attacker who has only the "
        f"release and the target's trace is right {_interval(zero['own'])} of the time, and "
        f"{_interval(zero['worst'])} about the target it identifies best. At ε = 0.1 it is right "
        f"{_interval(shown['likelihood-zero']['0.1']['own'])} of the time. With a tenth of the trace it is "
        f"{_interval(tenth['own'])} at ε = 1. An attacker who knows everyone else's data is right "
        f"{_interval(informed['own'])} of the time, and {_interval(informed['worst'])} about the target it "
        "identifies best."
    )
    return shown


def _interval(found: list[float]) -> str:
    value, low, high = found
    return f"{percent(value)} ({lower_percent(low)} to {upper_percent(high)})"


def draw_crossover() -> dict[str, Any]:
    """The sum of cells against votes of cells, as cells fill up."""
    rows = [
        {"label": attack, "x": with_visitors(n).usual, "y": exact_accuracies(with_visitors(n))[attack]}
        for n in DENSITIES
        for attack in ATTACKS
    ]
    x = alt.X(
        "x:Q",
        title="average number of other people in a cell",
        scale=alt.Scale(type="log", domain=[0.18, 55], nice=False),
        axis=alt.Axis(values=[0.2, 1, 2, 5, 10, 20, 50]),
    )
    y = alt.Y(
        "y:Q",
        title="correct identifications",
        scale=alt.Scale(domain=[0.5, 1.0]),
        axis=alt.Axis(grid=True, format="%"),
    )
    save(lines(rows, ATTACKS, x=x, y=y), "crossover")
    at = {f"{row['label']}, {row['x']:g}": round(row["y"], 3) for row in rows}
    sparse, dense = ([at[f"{attack}, {n}"] for attack in ATTACKS] for n in ("0.2", "20"))
    caption = (
        "How often three attacks are right, computed for sixty cells with Laplace noise of ε = 0.5 each and "
        "an attacker who knows the average number of other people in each. With 0.2 other people the sum is "
        f"right {sparse[0]:.1%} of the time, votes {sparse[1]:.1%}, the likelihood {sparse[2]:.1%}; with 20 "
        f"they are right {dense[0]:.1%}, {dense[1]:.1%} and {dense[2]:.1%}. Votes are better than the sum "
        f"below {crossover_density():.1f} other people."
    )
    return {"caption": caption, "crossing": round(crossover_density(), 3), "at": at}
