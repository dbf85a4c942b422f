"""A town small enough to count by hand, and games in it."""

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.challenger import SPLIT, Challenger, _user_chain
from leakgauge.domains.locations.data.population_split import split_population
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.guarantee import people_guarantee
from leakgauge.domains.locations.plan_tables import (
    LocationsUserMechanismTable,
    read_challenger_table,
    read_mechanism_table,
    with_group_size,
)

LAPLACE = {"name": "laplace", "epsilon": 1.0}
RAW = {"name": "raw"}


def traces(visits, n_epochs=1, epochs_per_day=24, positions=None) -> Traces:
    """People's visits, as rows of zeros and ones."""
    ones = csr_array(np.asarray(visits, dtype=np.uint8))
    days = np.arange(n_epochs) // epochs_per_day
    return Traces(ones, CellMap(ones.shape[1] // n_epochs, n_epochs, days, positions))


def value_table(values, n_columns=1) -> Traces:
    """People's values in cells without times, as rows of 0, 1 and 2."""
    values = np.asarray(values)
    columns = [np.repeat(np.arange(row.size), row) for row in values]
    starts = np.append(0, np.cumsum(values.sum(axis=1)))
    indices = np.concatenate(columns).astype(np.int32)
    listed = csr_array((np.ones(indices.size, dtype=np.uint8), indices, starts), shape=values.shape)
    days = np.zeros(n_columns, dtype=np.int64)
    cells = CellMap(values.shape[1] // n_columns, n_columns, days, max_value=2, timed=False)
    return Traces(listed, cells)


def genotypes(n_people=60, n_snps=24, seed=0) -> Traces:
    """People with two alleles at each of several independent SNPs."""
    rng = np.random.default_rng(seed)
    frequencies = rng.uniform(0.1, 0.5, n_snps)
    return value_table((rng.random((2, n_people, n_snps)) < frequencies).sum(axis=0))


def town(n_people=60, n_places=4, n_epochs=6, density=0.15, seed=0) -> Traces:
    """People who are anywhere with the same chance, at least somewhere."""
    visits = np.random.default_rng(seed).random((n_people, n_places * n_epochs)) < density
    visits[np.arange(n_people), np.arange(n_people) % visits.shape[1]] = True
    return traces(visits, n_epochs, epochs_per_day=2)


def game(people: Traces, mechanism=LAPLACE, seed=1, loader=None, **setting) -> Challenger:
    """The challenger of a plan's tables, for people who are there already; one split unless more are set."""
    splits = {} if setting.get("group_size") == "everyone" else {"splits": 1}
    rules = read_challenger_table({"group_size": 20, **splits, **setting})
    steps = read_mechanism_table(mechanism, rules, people.map.max_value)
    divided = split_population(people, rules, stream(seed, Role.DATA, SPLIT))
    steps = with_group_size(steps, rules.n_members(people.n_people) * people.map.max_value)
    chain = _user_chain(steps, people, loader) if isinstance(steps, LocationsUserMechanismTable) else steps
    return Challenger(
        traces=people,
        people=divided,
        crowd=Crowd(people),
        chain=chain,
        table=rules,
        guarantee=people_guarantee(steps, people, divided, rules),
        digest="",
        seed=seed,
    )


def pipeline_file(folder: Path, text: str) -> None:
    """A release pipeline of your own, in the folder of a plan."""
    (folder / "mine.py").write_text(text)
