"""The options of commands whose work can be spread: where, and over how many workers."""

import argparse


def add_engine_options(
    parser: argparse.ArgumentParser, *, work: str = "the blocks", workers: int | None = 1, default: str = "1"
) -> None:
    """Add ``--engine``, ``--workers`` and ``--address``; ``default`` says what no ``--workers`` means."""
    parser.add_argument(
        "--engine",
        choices=["local", "dask", "ray"],
        default="local",
        help=f"what runs {work} (default: local)",
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=workers, help=f"parallel workers (default: {default})"
    )
    parser.add_argument(
        "--address", metavar="A", help="address of a dask or ray cluster; otherwise one is started"
    )
