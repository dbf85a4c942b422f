import pytest

from domains.queries.remote import faulty_service
from leakgauge.domains.queries.remote import http_client


@pytest.fixture(autouse=True)
def _short_pauses_and_closed_connections(monkeypatch):
    monkeypatch.setattr(http_client, "FIRST_PAUSE", 0.02)
    yield
    while faulty_service.ADAPTERS:
        faulty_service.ADAPTERS.pop()._sender.close()
