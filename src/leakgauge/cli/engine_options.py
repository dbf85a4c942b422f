"""The options of commands that simulate rounds: where, and by how many workers."""

import argparse


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine``, ``--workers`` and ``--address``."""
    parser.add_argument(
        "--engine",
        choices=["local", "dask", "ray"],
        default="local",
        help="what runs the blocks (default: local)",
    )
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="parallel workers (default: 1)")
    parser.add_argument(
        "--address", metavar="A", help="address of a dask or ray cluster; otherwise one is started"
    )
