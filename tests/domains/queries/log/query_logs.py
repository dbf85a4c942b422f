"""Logs for tests, as files and as values."""

import numpy as np

from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.domains.queries.log.incidence import build_incidence
from leakgauge.domains.queries.log.noise_families import NoiseFamily
from leakgauge.domains.queries.log.reader import read_query_log
from leakgauge.domains.queries.log.record_pairs import CodedPairs

FAMILIES = tuple(map(NoiseFamily, ("laplace", "geometric", "gaussian", "logistic", "discrete_gaussian")))
RECORDS = "id,age,income\n1,20,5\n2,30,50\n3,40,500\n4,50,-20\n"


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text)
    return path


def read(folder, text, **files):
    return read_query_log(QueryLogFiles(written(folder, text), **files))


def contained(log):
    """Which queries contain each record, by the ids of both."""
    starts, queries = log.incidence.starts, log.incidence.queries
    return {
        name: [log.answers.ids[query] for query in queries[starts[i] : starts[i + 1]]]
        for i, name in enumerate(log.names.tolist())
    }


def answers(scales, *, noise=0, bound=1.0):
    n = len(scales)
    ids, noises = np.arange(n), np.broadcast_to(noise, n).astype(np.int64)
    bounds = np.broadcast_to(np.asarray(bound, dtype=float), n)
    scales = np.array(scales, dtype=float)
    return LoggedAnswers(ids, ids + 1, FAMILIES, noises, scales, bounds, bounds != 1)


def pairs(queries, records, contributions=None):
    values = None if contributions is None else np.array(contributions, dtype=float)
    return CodedPairs(np.array(queries, dtype=np.int32), np.array(records, dtype=np.int32), values)


def sparse(n_queries, n_records, queries, records, contributions=None):
    return build_incidence(pairs(queries, records, contributions), np.arange(1, n_queries + 1), n_records)


def random_sparse(rng, n_queries, n_records, share=0.2, contributions=False):
    inside = rng.random((n_queries, n_records)) < share
    queries, records = np.nonzero(inside)
    order = rng.permutation(queries.size)
    values = rng.integers(-3, 4, queries.size) if contributions else None
    return sparse(n_queries, n_records, queries[order], records[order], values)
