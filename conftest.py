"""Which tests run: slow and nightly ones on request, and none that needs a library which is not installed.

``tests/durations.json`` says which cases are slow; ``make durations`` measures it again. Where the variable
CI is set every library must be installed, and a missing one is a failure.
"""

import gc
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Libraries that users may do without, by the extra that installs them.
EXTRAS = {
    "numba": "fast",
    **dict.fromkeys(("torch", "onnxruntime", "dp_accounting"), "ml"),
    **dict.fromkeys(("flwr", "PIL"), "federated"),
    **dict.fromkeys(("fastapi", "uvicorn", "httpx"), "service"),
    "opendp": "mechanisms",
    **dict.fromkeys(("dask", "distributed", "ray"), "distributed"),
    **dict.fromkeys(("mkdocs", "mkdocstrings"), "docs"),
    **dict.fromkeys(("playwright", "mpmath", "onnx", "opacus", "hypothesis", "nbclient"), "dev"),
}


if find_spec("hypothesis"):
    from hypothesis import settings

    settings.register_profile("untimed", settings(deadline=None))  # no test may depend on a busy machine
    settings.load_profile("untimed")

DURATIONS = Path(__file__).parent / "tests" / "durations.json"
DAY_SECONDS = 0.2  # CPU seconds of a case of make test; what takes longer is left to make test-slow,
CHEAPEST_SECONDS = 0.5  # but for the cheapest case of a function that has no other, up to so many

gc.disable()  # while tests are collected: a quarter of that time would go into looking at modules that stay


def pytest_collection_finish() -> None:
    """Collect garbage again, now that the modules are there."""
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of ``make durations``."""
    parser.addoption("--write-durations", action="store_true", help=f"write {DURATIONS.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Measure where that is asked for."""
    if config.getoption("--write-durations"):
        config.pluginmanager.register(_Durations())


class _Durations:
    """The CPU seconds of each case, with its fixtures and the processes that it waited for."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._start = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[Any]:
        self._start = sum(os.times()[:4])
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Iterator[Any]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append(("cpu", sum(os.times()[:4]) - self._start))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._seconds[report.nodeid] = round(float(dict(report.user_properties)["cpu"]), 2)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):  # a process of xdist, whose reports arrive at another
            slow = {case: cpu for case, cpu in sorted(self._seconds.items()) if cpu > DAY_SECONDS}
            DURATIONS.write_text(json.dumps(slow, indent=0) + "\n", encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out nightly tests unless -m mentions them, whatever else -m selects.

    Tests of whole pages and examples, the longest, go first: at the end no core waits for one of them.
    """
    whole = config.rootpath / "tests"
    items.sort(key=lambda item: item.path.parent != whole)
    slow = slow_cases((item.nodeid for item in items), json.loads(DURATIONS.read_text(encoding="utf-8")))
    for item in items:
        if item.nodeid in slow:
            item.add_marker("slow")
    if "nightly" in config.getoption("markexpr"):
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


def slow_cases(cases: Iterable[str], seconds: Mapping[str, float]) -> set[str]:
    """The cases over the limit; of a function without a quick one the cheapest may take longer."""
    functions: dict[str, list[str]] = {}
    for case in cases:
        functions.setdefault(case.partition("[")[0], []).append(case)
    cheapest = {min(group, key=lambda case: seconds.get(case, 0.0)) for group in functions.values()}
    kept = {case for case in cheapest if seconds.get(case, 0.0) <= CHEAPEST_SECONDS}
    return {case for group in functions.values() for case in group if case in seconds} - kept


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Skip a file of tests that imports a library which is not installed."""
    report = yield
    if report.outcome == "failed" and (reason := _missing_in(str(report.longrepr))):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    """Skip a test that fails because a library is not installed."""
    report = yield
    if report.outcome == "failed" and call.excinfo and (reason := _missing_behind(call.excinfo.value)):
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], f"Skipped: {reason}")
    return report


def _missing_behind(error: BaseException | None) -> str | None:
    """The library whose absence caused an error, directly or through a message that names it."""
    while error is not None:
        found = _missing_in(str(error))
        if found:
            return found
        error = error.__cause__ or error.__context__
    return None


def _missing_in(text: str) -> str | None:
    if os.environ.get("CI"):
        return None
    for library, extra in EXTRAS.items():
        said = (f"No module named '{library}", f"leakgauge[{extra}]")
        if any(words in text for words in said) and find_spec(library) is None:
            return f"needs {library}: pip install 'leakgauge[{extra}]'"
    return None
