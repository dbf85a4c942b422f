"""Generated genotypes: how many copies of the rarer allele each person carries at each SNP."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256

import numpy as np
from scipy.sparse import csr_array

from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.data.traces import CellMap, Traces
from leakgauge.domains.locations.data.visit_data import RowCounts, VisitData

SYNTHETIC_GENOTYPES = "synthetic-genotypes"
VERSION = "genotypes 1"  # part of the digest: change it when the same table would give other genotypes
MOST_GENOTYPES = 100_000_000  # people x SNPs: all are drawn at once
_BLOCK = 0  # of the stream of generated data


@dataclass(frozen=True, kw_only=True)
class SyntheticGenotypes:
    """Independent SNPs in Hardy-Weinberg equilibrium; allele frequencies are uniform between two ends."""

    users: int = 1_000
    snps: int = 1_000
    frequencies: tuple[float, float] = (0.05, 0.5)

    def __post_init__(self) -> None:
        for name in ("users", "snps"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.users * self.snps > MOST_GENOTYPES:
            raise BadInput(
                f"{self.users} users x {self.snps} snps are too many genotypes; at most {MOST_GENOTYPES:,}: "
                "lower one of them"
            )
        low, high = self.frequencies
        if not 0 < low <= high < 1:
            raise BadInput(f"frequencies must be two numbers in (0, 1), the smaller first, got {low}, {high}")


def generate_genotypes(table: SyntheticGenotypes, seed: int) -> VisitData:
    """Draw the frequency of each SNP, and the two alleles of each person."""
    rng = stream(seed, Role.DATA, _BLOCK)
    frequencies = rng.uniform(*table.frequencies, size=table.snps)
    alleles = (rng.random((2, table.users, table.snps)) < frequencies).sum(axis=0)
    people, snps = np.nonzero(alleles)
    times = alleles[people, snps]
    starts = np.append(0, np.cumsum(alleles.sum(axis=1)))
    columns = np.repeat(snps, times).astype(np.int32)
    visits = csr_array((np.ones(columns.size, dtype=np.uint8), columns, starts), shape=alleles.shape)
    cells = CellMap(table.snps, 1, np.zeros(1, dtype=np.int64), max_value=2, timed=False)
    settings = f"{VERSION}\n{json.dumps(asdict(table), sort_keys=True)}\n{seed}"
    n_rows = alleles.size
    return VisitData(
        traces=Traces(visits, cells),
        tally=RowCounts(rows=n_rows, kept=n_rows),
        digest=sha256(settings.encode()).hexdigest(),
    )
