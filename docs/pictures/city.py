"""The city of the pictures: its file of visits, plans over it, and what is measured of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import leakgauge
from leakgauge import catalog
from leakgauge.core.exposure import Exposure
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.data.traces import Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.plan import Plan, read_plan

SEED = 20240501
CITY = {"source": "synthetic", "users": 5000, "sites": 100, "epochs": 168}  # that of examples/city-by-hour
MONDAY = datetime(2024, 5, 6, tzinfo=UTC)
GROUP, GROUPS = 1000, 20
FOUND = "tpr_at_fpr_0.01"  # members found while 1 % of the others are wrongly accused
WORST = 0.95  # quantile of the exposure

PLAN = """
seed = {seed}

[[audit]]
name = "city"
domain = "locations"
mechanism = {mechanism}

[audit.data]
source = "visits.csv"
columns = {{ place = "zone" }}
places = {{ source = "zones.csv", place = "zone" }}
epoch = "{epoch}"

[audit.challenger]
group_size = {group}
reference = 0.5
splits = 2
targets = {{ n = 10, min_visits = 1 }}
{caps}
"""


@dataclass(frozen=True)
class Setting:
    """One way to publish the same visits."""

    name: str
    mechanism: str
    caps: str = ""
    epoch: str = "1h"
    group: int = GROUP


@dataclass(frozen=True, eq=False)
class Release:
    """What a setting does to people, and to the counts."""

    exposure: Exposure
    challenger: Challenger
    counted: np.ndarray[Any, Any]  # a row for each of some groups; of all visits, whatever the caps
    published: np.ndarray[Any, Any]

    @property
    def error(self) -> float:
        """By how much a published count is off, on average, as ``leakgauge expose`` says."""
        assert self.exposure.utility is not None
        return self.exposure.utility["mean_absolute_error"]

    @property
    def usual(self) -> float:
        """The average count."""
        return float(self.counted.mean())

    def quantile(self, adversary: str, metric: str, share: float) -> float:
        """What an attacker reaches at most against this share of the people."""
        against = next(one for one in self.exposure.against if one.adversary == adversary)
        return float(np.quantile(against.metric(metric), share))


@contextmanager
def visits_folder() -> Iterator[Path]:
    """A folder with the city's visits as an operator would have them: ``visits.csv`` and ``zones.csv``."""
    traces = load_visits(CITY, Path(), SEED).traces
    with TemporaryDirectory() as name:
        folder = Path(name)
        people = np.repeat(np.arange(traces.n_people), traces.n_visits)
        cells = traces.visits.indices.astype(np.int64)
        times = [f"{MONDAY + timedelta(hours=hour):%Y-%m-%d %H:%M:%S}" for hour in range(traces.map.n_epochs)]
        rows = zip(people.tolist(), traces.map.epochs(cells).tolist(), traces.map.places(cells).tolist())
        lines = [f"p{person},{times[epoch]},z{place:03d}" for person, epoch, place in rows]
        (folder / "visits.csv").write_text("\n".join(["user,time,zone", *lines]) + "\n")
        (folder / "zones.csv").write_text("\n".join(_zones(traces)) + "\n")
        yield folder


def _zones(traces: Traces) -> list[str]:
    assert traces.map.positions is not None
    degrees = traces.map.positions / 111_195  # at the equator, where both axes are alike
    return [
        "zone,lat,lon",
        *(f"z{place:03d},{north:.6f},{east:.6f}" for place, (east, north) in enumerate(degrees.tolist())),
    ]


def plan_of(setting: Setting, folder: Path) -> Plan:
    """The plan that audits a setting."""
    path = folder / "plan.toml"
    text = PLAN.format(
        seed=SEED,
        group=setting.group,
        mechanism=setting.mechanism,
        caps=setting.caps,
        epoch=setting.epoch,
    )
    path.write_text(text)
    return read_plan(path)


@cache
def release_of(setting: Setting, folder: Path) -> Release:
    """Publish the counts of some random groups in a setting, and work out how exposed everybody is."""
    plan = plan_of(setting, folder)
    (audit,) = plan.audits
    (found,) = leakgauge.expose(plan)
    challenger = catalog.build_challenger(audit, plan)
    rng = np.random.default_rng(SEED)
    crowd = Crowd(load_visits(audit.data, folder, SEED).traces)
    people = crowd.people(GROUPS, setting.group, rng)
    kept = Crowd(challenger.traces).counts(people)
    return Release(found.exposure, challenger, crowd.counts(people), challenger.chain.sample(kept, rng))


def write_numbers(numbers: dict[str, Any], path: Path) -> None:
    """Keep what the pictures show, for the test that the page says the same."""
    path.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n")
