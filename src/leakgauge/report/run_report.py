"""The report of a run: one HTML file with the decision and all sections."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.report import page, sections
from leakgauge.report.first_screen import first_screen
from leakgauge.report.judged_run import JudgedRun, report_origin, report_title
from leakgauge.verdict import Verdict


def write_run_report(verdicts: Sequence[Verdict], manifest: Mapping[str, Any], path: Path) -> Path:
    """Write the report: the decision first, then an appendix with the numbers and what they are based on."""
    if not verdicts:
        raise BadInput(
            f"{path.name}: there is no verdict to report; judge a run that has simulated some releases"
        )
    run = JudgedRun(verdicts, manifest)
    parts = (module.section(run) for module in _section_modules())
    return page.write_page(
        report_title(run),
        [part for part in parts if part is not None],
        path,
        lead=report_origin(run),
        opening=first_screen(run),
    )


def _section_modules() -> list[ModuleType]:
    """All sections, each a file with an ``ORDER`` and a function ``section``."""
    modules = [
        import_module(f"{sections.__name__}.{module.name}") for module in iter_modules(sections.__path__)
    ]
    return sorted(modules, key=lambda module: module.ORDER)
