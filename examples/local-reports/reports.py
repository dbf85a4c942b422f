"""Optimal local hashing of one of a thousand web pages, written by hand, and its noise distribution."""

import numpy as np

EPSILON = 2.0
PRIME = 2**31 - 1
BUCKETS = round(np.exp(EPSILON)) + 1
TRUTH = np.exp(EPSILON) / (np.exp(EPSILON) + BUCKETS - 1)


def bucket_of(page, a, b):
    """Hash a page to one of a few buckets; a and b choose the hash function."""
    return (a * page + b) % PRIME % BUCKETS


def report(page, rng):
    """A random hash function, and the bucket of the page or, with some probability, another one."""
    a, b = int(rng.integers(1, PRIME)), int(rng.integers(PRIME))
    bucket = bucket_of(page, a, b)
    if rng.random() >= TRUTH:
        bucket = (bucket + int(rng.integers(1, BUCKETS))) % BUCKETS
    return {"a": a, "b": b, "bucket": bucket}


def log_probability(output, page):
    """The log probability of a report, given the page: all hash functions are equally likely."""
    honest = bucket_of(page, output["a"], output["b"]) == output["bucket"]
    return np.log(TRUTH if honest else (1 - TRUTH) / (BUCKETS - 1)) - np.log(PRIME * (PRIME - 1.0))
