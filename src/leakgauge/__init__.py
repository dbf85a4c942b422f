"""Measure how much a privacy-protected release really leaks about each person in it.

- ``run`` carries out a plan: it simulates releases, attacks them and judges the result.
- ``audit_counts`` and ``audit_queries`` audit data frames: counts of people, and answers about records.
- ``audit_model`` audits a finished model, ``audit_training`` a DP training.
- ``judge`` judges the scores of any other attack, ``audit_mechanism`` audits a function.
- ``expose`` computes how exposed each person is, ``expose_log`` does it for a log of answered queries.
- ``bundle`` writes a run as one zip file that others can check, ``verify`` checks it.
- ``tune`` finds the most useful settings whose risk stays under a limit.
- ``reproduce`` regenerates the figures and tables of a paper.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leakgauge.support.result_views import register_result_views
from leakgauge.version import VERSION

if TYPE_CHECKING:
    from leakgauge.api import bundle, expose, expose_log, run, verify
    from leakgauge.core.errors import BadInput
    from leakgauge.frame_audits import audit_counts, audit_queries
    from leakgauge.limits import Limits
    from leakgauge.papers.reproduction import reproduce
    from leakgauge.parameter_search.tune import tune
    from leakgauge.plan import Plan
    from leakgauge.referee.estimate import Estimate
    from leakgauge.runner.in_memory import audit_mechanism, judge
    from leakgauge.runner.model_audit import audit_model
    from leakgauge.runner.training_audit import audit_training
    from leakgauge.verdict import Finding, Verdict

__all__ = [
    "BadInput",
    "Estimate",
    "Finding",
    "Limits",
    "Plan",
    "Verdict",
    "__version__",
    "audit_counts",
    "audit_mechanism",
    "audit_model",
    "audit_queries",
    "audit_training",
    "bundle",
    "expose",
    "expose_log",
    "judge",
    "reproduce",
    "run",
    "tune",
    "verify",
]

__version__ = VERSION

register_result_views(lambda: import_module("leakgauge.report.result_views"))

_MODULES = {
    "BadInput": "leakgauge.core.errors",
    "Estimate": "leakgauge.referee.estimate",
    "Finding": "leakgauge.verdict",
    "Limits": "leakgauge.limits",
    "Plan": "leakgauge.plan",
    "Verdict": "leakgauge.verdict",
    "audit_counts": "leakgauge.frame_audits",
    "audit_mechanism": "leakgauge.runner.in_memory",
    "audit_model": "leakgauge.runner.model_audit",
    "audit_queries": "leakgauge.frame_audits",
    "audit_training": "leakgauge.runner.training_audit",
    "bundle": "leakgauge.api",
    "expose": "leakgauge.api",
    "expose_log": "leakgauge.api",
    "judge": "leakgauge.runner.in_memory",
    "reproduce": "leakgauge.papers.reproduction",
    "run": "leakgauge.api",
    "tune": "leakgauge.parameter_search.tune",
    "verify": "leakgauge.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package stays fast."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
