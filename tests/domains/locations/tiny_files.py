"""Tiny files of visits, written by hand, and their traces spelled out."""

import gzip
from pathlib import Path

from leakgauge.domains.locations.data import data_loader
from leakgauge.domains.locations.data.data_loader import load_visits

HEADER = "user,time,lat,lon"


def written(folder: Path, name: str, *lines: str, encoding: str = "utf-8") -> Path:
    """Write a text file, compressed if its name says so."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = ("\n".join(lines) + "\n").encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def parquet(folder: Path, name: str, select: str) -> Path:
    """Write what a query selects."""
    import duckdb

    duckdb.connect().execute(f"COPY ({select}) TO '{folder / name}' (FORMAT parquet)")
    return folder / name


def spelled(loaded):
    """Who visits which (place, epoch)."""
    traces = loaded.traces
    return {
        str(traces.names[i]): [divmod(int(cell), traces.map.n_epochs) for cell in traces.cells(i)]
        for i in range(traces.n_people)
    }


def loaded(folder, **table):
    """Read a file again, whatever was read before; tiny files count seconds from 1970, and users from 1."""
    data_loader._cache.clear()
    cells = "cell" in table.get("columns", {}) or str(table.get("source")).startswith("synthetic")
    accept = {} if cells else {"accept": ["old_times", "one_hour", "midnight", "user_per_row"]}
    return load_visits({**accept, **table}, folder, seed=1)
