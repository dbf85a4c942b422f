"""How many people an adversary does how well against: bars, full-coloured from a level on."""

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.pages.charts import paint
from leakgauge.pages.numbers import brief, percent
from leakgauge.pages.page import Chart, Stroke

HEIGHT = 110
FAINT = 0.4


def people_chart(
    name: str,
    edges: Reals,
    shares: Reals,
    *,
    level: float | None,
    most: float,
    colour: str,
    x_title: str,
    caption: str,
    alternative: str,
    who: str = "people",
) -> Chart:
    """Draw a low panel, to be set above others: ``most`` is the share that fills all of their heights."""
    import altair as alt

    if not edges.size == shares.size + 1 > 1:
        raise BadInput(f"chart {name}: {shares.size} shares, {edges.size} edges; give one more edge")
    rows = [
        {"x": brief(left), "x2": brief(right), "y": brief(share), "read": percent(share)}
        for left, right, share in zip(edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True)
    ]
    across = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color=colour)
        .encode(
            x=alt.X("x:Q", title=x_title, scale=across, axis=alt.Axis(format="~%", tickCount=6)),
            x2="x2:Q",
            y=alt.Y(
                "y:Q",
                title=who,
                scale=alt.Scale(domain=[0.0, most or 1.0], nice=False),
                axis=alt.Axis(format="~%", grid=True, tickCount=3),
            ),
            y2=alt.datum(0),
            opacity=alt.value(1.0)
            if level is None
            else alt.condition(f"datum.x >= {level}", alt.value(1.0), alt.value(FAINT)),
            tooltip=[
                alt.Tooltip("x:Q", title="from", format=".0%"),
                alt.Tooltip("x2:Q", title="to", format=".0%"),
                alt.Tooltip("read:N", title=who),
            ],
        )
    )
    layers = [bars]
    if level is not None:
        mark = alt.Chart(alt.Data(values=[{"x": level}])).mark_rule(
            color=paint.CHANCE, strokeDash=paint.DASHES[Stroke.DASHED], tooltip=None
        )
        layers.append(mark.encode(x=alt.X("x:Q", scale=across)))
    return Chart(name, caption, alternative, paint.spec(alt.layer(*layers).properties(height=HEIGHT)))
