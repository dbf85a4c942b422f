"""The exposure of everybody in the data, where it has been computed."""

from leakgauge.pages import exposure_page
from leakgauge.pages.judged import Judged
from leakgauge.pages.page import Section

ORDER = 55


def section(run: Judged) -> Section | None:
    """Quantiles and histograms; nothing where ``leakgauge expose`` has not been run into the folder."""
    summary = run.manifest.get("exposure")
    return exposure_page.section(summary) if summary and summary["audits"] else None
