"""Clients compute gradients with PyTorch, which is not always there."""

from importlib.util import find_spec

from leakgauge.core.errors import BadInput


def require_torch() -> None:
    """Refuse a game before it starts, where its clients could not answer."""
    try:
        there = find_spec("torch") is not None
    except ImportError:
        there = False
    if not there:
        raise BadInput(
            "clients compute gradients with torch, which is not installed; run: pip install 'leakgauge[ml]'"
        )
