import numpy as np
import pytest

from leakgauge.pages import exposure_page
from leakgauge.pages.exposure_page import spread


def summary(n_audits: int = 1) -> dict:
    quantiles = {
        "0.05": 0.51,
        "0.25": 0.6,
        "0.5": 0.7312,
        "0.75": 0.8,
        "0.95": 0.9,
        "0.99": 0.95,
        "1.0": 0.99999,
    }
    metrics = {name: {"mean": 0.7, "quantiles": quantiles} for name in ("accuracy", "auc", "tpr_at_fpr_0.01")}
    edges = np.linspace(0, 1, 51).tolist()
    people = [0] * 25 + [10] * 25
    audit = {
        "domain": "locations",
        "people": 250,
        "notes": ["Informed is a ceiling <here>."],
        "promised": {
            "nominal": {"epsilon": 0.5, "unit": "event"},
            "delta": quantiles | {"1.0": 1e-5},
            "kairouz": quantiles | {"0.5": 8.47, "0.95": 12.9, "1.0": None},
            "tight": quantiles | {"0.5": 8.091, "0.95": 12.0, "1.0": 12.3},
        },
        "adversaries": [
            {
                "adversary": name,
                "basis": "the best",
                "error": 0.000123,
                "metrics": metrics,
                "histogram": {"metric": "auc", "edges": edges, "people": people},
            }
            for name in ("informed", "zero")
        ],
    }
    return {"schema": 1, "audits": [{**audit, "audit": f"city {i}"} for i in range(n_audits)]}


def test_the_page_shows_quantiles_notes_and_a_histogram(tmp_path):
    path = exposure_page.write(summary(), tmp_path / "exposure.html")
    text = path.read_text()
    assert "How exposed is everybody?" in text
    assert "73.1% / 90.0% / &gt;99.9%" in text
    assert "0.731 / 0.900 / &gt;0.999" in text
    assert "Informed is a ceiling &lt;here&gt;." in text
    assert "0.000123" in text
    assert 'id="exposure-1"' in text


def test_a_histogram_shows_shares_of_people_where_there_are_any():
    (chart,) = exposure_page.section(summary()).charts
    values = chart.spec["data"]["values"]
    assert len(values) == 2 * 25
    assert sum(row["y"] for row in values) == pytest.approx(2)
    assert min(row["x"] for row in values) == 0.5


def test_more_audits_than_fit_are_owned_up_to():
    section = exposure_page.section(summary(9))
    assert len(section.charts) == exposure_page.MOST_AUDITS
    assert "Shown are 6 of 9 audits" in section.html


@pytest.mark.parametrize(("value", "text"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.5, "50.0%")])
def test_what_is_not_quite_certain_is_not_shown_as_certain(value, text):
    assert spread("accuracy", dict.fromkeys(("0.5", "0.95", "1.0"), value)).split(" / ")[0] == text


def test_the_page_shows_both_compositions_beside_the_label(plain):
    text = plain(exposure_page.section(summary()).html)
    assert "Promised is ε = 0.5 for one event." in text
    assert "at δ of at most 10⁻⁵" in text
    assert "(Kairouz et al. 2015) 8.47 / 12.9 / ∞" in text
    assert "(tight) 8.10 / 12.0 / 12.3" in text


def test_a_release_that_promises_nothing_shows_no_promise(plain):
    raw = summary()
    raw["audits"][0]["promised"] = None
    assert "Promised" not in plain(exposure_page.section(raw).html)
    del raw["audits"][0]["promised"]  # as older files have it
    assert "Promised" not in plain(exposure_page.section(raw).html)
