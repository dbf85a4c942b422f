"""The audit of a service that answers questions about records, which are given as a data frame."""

from collections.abc import Mapping
from typing import Any

from leakgauge.core.domain import FrameAudit
from leakgauge.core.errors import BadInput
from leakgauge.support.frame_source import is_path


def prepare_query_audit(
    records: Any, *, service: str | Mapping[str, Any] | None, data: dict[str, Any], challenger: dict[str, Any]
) -> FrameAudit:
    """Set up the tables of a plan; a service is given by its address, or by the table of a plan."""
    if records is None:
        raise BadInput(
            'records: None is no data; give a frame or a file, or audit_queries("synthetic", ...) for a '
            "generated table"
        )
    if "source" in data:
        raise BadInput("data.source: the records are an argument of their own; leave it out of data")
    if service is not None:
        table = {"url": service} if isinstance(service, str) else dict(service)
        challenger = {**challenger, "service": table}
    if is_path(records):
        data = {**data, "source": str(records)}
    return FrameAudit(frame=None if is_path(records) else records, data=data, challenger=challenger)
