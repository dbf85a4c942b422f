"""The report of a run: one HTML file with the decision and all sections."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.report import number_format, page, sections
from leakgauge.report.adversary_names import attackers_and_settings, clip
from leakgauge.report.first_screen import first_screen
from leakgauge.report.judged_run import JudgedRun, is_finished
from leakgauge.verdict import Verdict

TITLE = "What does this release leak?"


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


def report_title(run: JudgedRun) -> str:
    """The title that the plan gives, or a general one."""
    return clip(run.manifest.get("title") or TITLE, 120)


def report_origin(run: JudgedRun) -> str:
    """Whose release this is, which one, when it was judged, and what was tried."""
    known = [(name.capitalize(), run.manifest.get(name)) for name in ("owner", "release", "date")]
    given = [f"{name}: {clip(value, 80)}" for name, value in known if value]
    return " · ".join([*given, _lead(run.verdicts)])


def _section_modules() -> list[ModuleType]:
    """All sections, each a file with an ``ORDER`` and a function ``section``."""
    modules = [
        import_module(f"{sections.__name__}.{module.name}") for module in iter_modules(sections.__path__)
    ]
    return sorted(modules, key=lambda module: module.ORDER)


def _lead(verdicts: Sequence[Verdict]) -> str:
    simulated = {verdict.audit: verdict.rounds for verdict in verdicts if not is_finished(verdict)}
    finished = {verdict.audit for verdict in verdicts if verdict.audit not in simulated}
    kinds = ((sum(simulated.values()), "simulated release"), (len(finished), "finished release"))
    releases = " and ".join(number_format.times(n, kind) for n, kind in kinds if n)
    attackers = attackers_and_settings([(verdict.audit, verdict.label) for verdict in verdicts])
    return ", ".join(part for part in (attackers, releases) if part)
