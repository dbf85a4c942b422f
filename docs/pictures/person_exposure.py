"""What is published of the city, and how exposed its people are."""

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from city import FOUND, WORST, Setting, release_of
from svg_charts import histograms, lines, maps, save

RECOGNISED = 0.9  # right about a person this often, as leakgauge expose counts
HOUR = 2 * 24 + 18  # Wednesday, 18:00
AS_PUBLISHED = Setting(
    "event ε=1, rounded, suppressed",
    '{ name = "laplace", epsilon = 1.0, round = true, clamp = true, suppress = 1 }',
)
EVENTS = tuple(
    Setting(f"event ε={epsilon:g}", f'{{ name = "laplace", epsilon = {epsilon} }}')
    for epsilon in (1.0, 0.5, 0.1)
)


def draw_counts(folder: Path) -> dict[str, Any]:
    """The counts of one hour on the map, as they are and as they are published."""
    release = release_of(AS_PUBLISHED, folder)
    counted, published = (
        table[0].reshape(100, -1)[:, HOUR].astype(int) for table in (release.counted, release.published)
    )
    panels = {
        title: [{"row": place // 10, "column": place % 10, "value": int(n)} for place, n in enumerate(table)]
        for title, table in (("counted", counted), ("published: ε = 1, rounded, suppress = 1", published))
    }
    save(maps(panels, float(max(counted.max(), published.max()))), "counts")
    caption = (
        f"The {counted.size} places on Wednesday at 18:00, counted over 1,000 people, and what is published. "
        f"The largest count is {counted.max()}, half of them are {np.median(counted):.0f} or less: one "
        "person more or less is a large part of most counts."
    )
    return {"caption": caption, "counted": counted.tolist(), "published": published.tolist()}


def draw_exposure(folder: Path) -> dict[str, Any]:
    """How exposed people are to an attacker who knows everyone else, and to one who does not."""
    release = release_of(AS_PUBLISHED, folder)
    edges, step = np.linspace(0.5, 1.0, 26), 0.02
    rows = []
    shown: dict[str, Any] = {}
    for against in release.exposure.against[:2]:
        share = np.histogram(np.clip(against.accuracy, 0.5, 1.0), edges)[0] / against.accuracy.size
        rows += [
            {"label": against.adversary, "x": round(x, 3), "y": y}
            for x, y in zip(edges.tolist(), share.tolist())
        ]
        shown[against.adversary] = {
            metric: [round(release.quantile(against.adversary, metric, q), 3) for q in (0.05, 0.5, WORST)]
            for metric in ("accuracy", "auc", FOUND)
        }
        shown[against.adversary]["recognised"] = round(float((against.accuracy >= RECOGNISED).mean()), 3)
    x_title = "correct identifications of a person"
    save(
        histograms(rows, ["informed", "auxiliary"], x_title=x_title, y_title="people", step=step), "exposure"
    )
    informed, auxiliary = (shown[name] for name in ("informed", "auxiliary"))
    shown["caption"] = (
        f"An attacker who knows everyone else's data recognises {informed['recognised']:.0%} of the people: "
        f"it is right about them at least {RECOGNISED:.0%} of the time. One with data of similar people "
        f"recognises {auxiliary['recognised']:.0%}; it is right {auxiliary['accuracy'][1]:.0%} of the time "
        f"or more about half of the people, and {auxiliary['accuracy'][2]:.1%} or more about one in twenty."
    )
    return shown


def draw_visits(folder: Path) -> dict[str, Any]:
    """Exposure against how much somebody moves about."""
    edges = np.array([1, 3, 6, 11, 21, 41, 81, 1000])
    middles = ["1–2", "3–5", "6–10", "11–20", "21–40", "41–80", "81 and more"]
    rows = []
    for setting in EVENTS:
        release = release_of(setting, folder)
        group = np.digitize(release.exposure.cells, edges) - 1
        right = release.exposure.against[1].accuracy
        rows += [
            {"label": setting.name, "x": name, "order": place, "y": float(np.median(right[group == place]))}
            for place, name in enumerate(middles)
        ]
    x = alt.X(
        "x:O", title="cells that a person visits in the week", sort=middles, axis=alt.Axis(labelAngle=0)
    )
    y = alt.Y(
        "y:Q",
        title="correct identifications by auxiliary, median person",
        scale=alt.Scale(domain=[0.5, 1.0]),
        axis=alt.Axis(grid=True, format="%"),
    )
    save(lines(rows, [row["label"] for row in rows[:: len(middles)]], x=x, y=y), "visits")
    shown: dict[str, Any] = {f"{row['label']}, {row['x']}": round(row["y"], 3) for row in rows}
    loud, soft = ([shown[f"event ε={epsilon}, {middles[i]}"] for i in (0, 4)] for epsilon in ("0.1", "1"))
    shown["caption"] = (
        "At ε = 1 for one visit, the attacker with data of similar people is right "
        f"{soft[0]:.0%} of the time about people with one or two visits, and {soft[1]:.0%} about those with "
        f"21 to 40; at ε = 0.1 these are {loud[0]:.0%} and {loud[1]:.0%}."
    )
    return shown
