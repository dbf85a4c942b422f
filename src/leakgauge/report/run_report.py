"""The report of a run: verdicts in, one HTML file out."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.report import page, sections
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.number_format import times
from leakgauge.verdict import Verdict

TITLE = "What does this release leak?"


def write_run_report(verdicts: Sequence[Verdict], manifest: Mapping[str, Any], path: Path) -> Path:
    """Write the report: verdict first, then the numbers, then what they rest on."""
    if not verdicts:
        raise BadInput(f"{path.name}: there is no verdict to report; judge a run that has played some rounds")
    run = JudgedRun(verdicts, manifest)
    parts = (module.section(run) for module in _modules())
    return page.write_page(TITLE, [part for part in parts if part is not None], path, lead=_lead(verdicts))


def _modules() -> list[ModuleType]:
    """The sections there are, each a file with an ``ORDER`` and a function ``section``."""
    found = [
        import_module(f"{sections.__name__}.{module.name}") for module in iter_modules(sections.__path__)
    ]
    return sorted(found, key=lambda module: module.ORDER)


def _lead(verdicts: Sequence[Verdict]) -> str:
    audits = {verdict.audit: verdict.rounds for verdict in verdicts}
    return (
        f"{times(len(verdicts), 'adversary')} in {times(len(audits), 'audit')} tried to tell who is in the "
        f"data, over {times(sum(audits.values()), 'round')}."
    )
