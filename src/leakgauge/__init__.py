"""Measure what a privacy-protected release really leaks about each person in it.

``run`` carries out a plan, ``judge`` judges scores made elsewhere, ``audit_mechanism`` audits a function,
``expose`` computes how exposed each person is, ``reproduce`` plays the figures and tables of a paper again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leakgauge.version import VERSION

if TYPE_CHECKING:
    from leakgauge.api import expose, run
    from leakgauge.papers.reproduction import reproduce
    from leakgauge.runner.in_memory import audit_mechanism, judge

__all__ = ["__version__", "audit_mechanism", "expose", "judge", "reproduce", "run"]

__version__ = VERSION

_PLACES = {
    "audit_mechanism": "leakgauge.runner.in_memory",
    "expose": "leakgauge.api",
    "judge": "leakgauge.runner.in_memory",
    "reproduce": "leakgauge.papers.reproduction",
    "run": "leakgauge.api",
}


def __getattr__(name: str) -> Any:
    """Load a verb when it is first used: importing the package stays fast."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
