"""Ways to publish the same visits: what they cost, and what they give away."""

from pathlib import Path
from typing import Any

import altair as alt
from city import FOUND, WORST, Setting, release_of
from svg_charts import lines, ranges, save

CAPS = (1, 2, 3, 5, 10)
SIZES = (50, 100, 200, 400, 800)  # up to a third of the pool, so that a group is a random part of it
LARGEST_SUPPRESSED = 3
PLAIN, SUPPRESSED = "noise alone", f"counts up to {LARGEST_SUPPRESSED} suppressed"
EVENT, DAY = "noise for one visit", "noise for all visits of a day"
CHOICES = (
    Setting("raw, suppress 5", '{ name = "raw", suppress = 5 }'),
    Setting("event ε=1", '{ name = "laplace", epsilon = 1.0 }'),
    Setting("event ε=0.5", '{ name = "laplace", epsilon = 0.5 }'),
    Setting("event ε=0.1", '{ name = "laplace", epsilon = 0.1 }'),
    Setting("user-day ε=1, 3 a day", '{ name = "laplace", epsilon = 1.0, unit = "user-day" }', "per_day = 3"),
    Setting("user ε=1, 5 in all", '{ name = "laplace", epsilon = 1.0, unit = "user" }', "per_user = 5"),
    Setting("daily, event ε=1", '{ name = "laplace", epsilon = 1.0 }', epoch="1d"),
    Setting("daily, event ε=0.1", '{ name = "laplace", epsilon = 0.1 }', epoch="1d"),
    Setting(
        "daily, user ε=1, 5 in all",
        '{ name = "laplace", epsilon = 1.0, unit = "user" }',
        "per_user = 5",
        "1d",
    ),
)


def draw_caps(folder: Path) -> dict[str, Any]:
    """What a cap on visits a day does, with noise that stays and with noise that grows with it."""
    rows = []
    for cap in CAPS:
        for label, unit in ((EVENT, "event"), (DAY, "user-day")):
            mechanism = f'{{ name = "laplace", epsilon = 1.0, unit = "{unit}" }}'
            release = release_of(Setting(f"{unit} {cap}", mechanism, f"per_day = {cap}"), folder)
            kept = (
                release.challenger.traces.n_visits.sum()
                / release_of(CHOICES[1], folder).challenger.traces.n_visits.sum()
            )
            rows.append(
                {
                    "label": label,
                    "x": cap,
                    "right": release.quantile("auxiliary", "accuracy", WORST),
                    "error": release.error,
                    "kept": float(kept),
                }
            )
    panels = []
    for field, title, domain in (
        ("right", "auxiliary is right, for 5% of people more often", [0.5, 1.0]),
        ("error", "average error of a count", [0, 10.5]),
    ):
        axis = alt.Axis(grid=True, format="%") if field == "right" else alt.Axis(grid=True)
        own = [{"label": row["label"], "x": row["x"], "y": row[field]} for row in rows]
        x = alt.X(
            "x:Q",
            title="visits of a person that count, per day",
            axis=alt.Axis(values=list(CAPS)),
            scale=alt.Scale(domain=[0.5, 10.5]),
        )
        y = alt.Y("y:Q", title=title, scale=alt.Scale(domain=domain), axis=axis)
        panels.append(lines(own, [EVENT, DAY], x=x, y=y, width=290, height=240))
    save(alt.hconcat(*panels, spacing=30), "caps")
    shown: dict[str, Any] = {
        f"{row['label']}, {row['x']}": {k: round(row[k], 3) for k in ("right", "error", "kept")}
        for row in rows
    }
    one, ten, most = (shown[key] for key in (f"{EVENT}, 1", f"{EVENT}, 10", f"{DAY}, 10"))
    shown["caption"] = (
        "The most exposed 5% of people: with the noise of one visit left as it is, a cap of 1 instead of 10 "
        "visits a day lowers how often the attacker with data of similar people is right about them from "
        f"{ten['right']:.1%} or more to {one['right']:.1%} or more, and removes {1 - one['kept']:.0%} of "
        f"all visits. Noise that covers a day grows with the cap: at 10 visits a day the attacker is right "
        f"{most['right']:.1%} of the time or more, and a count is off by {most['error']:.0f} on average."
    )
    return shown


def draw_people(folder: Path) -> dict[str, Any]:
    """What more people in a table do, with and without suppression of small counts."""
    rows = []
    for size in SIZES:
        for steps, suppressed in ((PLAIN, 0), (SUPPRESSED, LARGEST_SUPPRESSED)):
            mechanism = (
                f'{{ name = "laplace", epsilon = 1.0, round = true, clamp = true, suppress = {suppressed} }}'
            )
            release = release_of(Setting(f"{steps} {size}", mechanism, group=size), folder)
            for adversary in ("informed", "auxiliary"):
                right = release.quantile(adversary, "accuracy", 0.5)
                rows.append({"label": f"{adversary}, {steps}", "x": size, "y": right})
    labels = [
        f"{adversary}, {steps}" for steps in (PLAIN, SUPPRESSED) for adversary in ("informed", "auxiliary")
    ]
    x = alt.X(
        "x:Q",
        title="people in the table",
        scale=alt.Scale(type="log", domain=[45, 900], nice=False),
        axis=alt.Axis(values=list(SIZES)),
    )
    y = alt.Y(
        "y:Q",
        title="right about the median person",
        scale=alt.Scale(domain=[0.5, 1.0]),
        axis=alt.Axis(format="%", grid=True),
    )
    save(lines(rows, labels, x=x, y=y), "people")
    shown: dict[str, Any] = {f"{row['label']}, {row['x']}": round(row["y"], 3) for row in rows}
    few, many = ({label: shown[f"{label}, {size}"] for label in labels} for size in (SIZES[0], SIZES[-1]))
    noise, stranger, insider = (
        f"auxiliary, {PLAIN}",
        f"auxiliary, {SUPPRESSED}",
        f"informed, {SUPPRESSED}",
    )
    shown["caption"] = (
        "About the median person: with noise alone the attacker with data of similar people is right "
        f"{few[noise]:.1%} of the time in a table of {SIZES[0]} people and {many[noise]:.1%} in one of "
        f"{SIZES[-1]}. Where counts of {LARGEST_SUPPRESSED} or less are suppressed, it is the other way "
        f"round: {few[stranger]:.1%} and {many[stranger]:.1%}, and {few[insider]:.1%} and "
        f"{many[insider]:.1%} for the attacker who knows everyone else's data."
    )
    return shown


def draw_choices(folder: Path) -> dict[str, Any]:
    """Ways to publish the same visits: what they cost in accuracy, and what they give away."""
    rows = []
    for setting in CHOICES:
        release = release_of(setting, folder)
        shown = {"name": setting.name, "error": release.error, "usual": release.usual}
        for adversary in ("informed", "auxiliary"):
            shown |= {
                f"{adversary} accuracy": release.quantile(adversary, "accuracy", 0.5),
                f"{adversary} found": release.quantile(adversary, FOUND, WORST),
            }
        rows.append(
            {key: value if isinstance(value, str) else round(value, 4) for key, value in shown.items()}
        )
    drawn = [
        {
            "name": row["name"],
            "x": row["error"] / row["usual"],
            "relative_error": f"{row['error'] / row['usual']:.0%}",
            "informed": row["informed found"],
            "auxiliary": row["auxiliary found"],
        }
        for row in rows
    ]
    shares = [0.01, 0.1, 1, 10]
    x = alt.X(
        "value:Q",
        title="found at 1% wrongly accused, for 5% of people more",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", grid=True, tickCount=5),
    )
    cost = alt.X(
        "x:Q",
        title="error, of the average count",
        scale=alt.Scale(type="log", domain=[0.01, 100], nice=False, clamp=True),
        axis=alt.Axis(format="%", values=shares),
    )
    save(ranges(drawn, ("informed", "auxiliary"), x=x, cost=cost), "choices")
    return {"rows": rows, "table": [_line(row) for row in rows]}


def _line(row: dict[str, Any]) -> str:
    """A row of the table on the page."""
    shares = [
        " / ".join(_share(row[f"{adversary} {metric}"]) for adversary in ("informed", "auxiliary"))
        for metric in ("accuracy", "found")
    ]
    off = f"{row['error']:.1f} ({row['error'] / row['usual']:.0%})"
    return f"| {' | '.join([row['name'], off, *shares])} |"


def _share(value: float) -> str:
    """A percentage; what is not quite everything is not shown as everything."""
    return ">99%" if value >= 0.995 else f"{value:.0%}"
