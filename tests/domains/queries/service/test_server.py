import socket

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.service import server


def test_listens_on_localhost_only():
    with server.listen(0) as door:
        host, port = door.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=60):
            pass


def test_rejects_used_or_invalid_port():
    with server.listen(0) as door, pytest.raises(BadInput, match="choose another --port"):
        server.listen(door.getsockname()[1])
    with pytest.raises(BadInput, match=r"port must be in 0\.\.65535"):
        server.listen(70_000)


def test_token_comes_from_environment_or_is_random(monkeypatch):
    monkeypatch.setenv(server.TOKEN_VARIABLE, "mine")
    assert server.read_token() == ("mine", False)
    monkeypatch.delenv(server.TOKEN_VARIABLE)
    (one, made_up), (other, _) = server.read_token(), server.read_token()
    assert made_up
    assert one != other
    assert len(one) >= 32


@pytest.mark.parametrize("value", ["", " ", "a\nb", "schlüssel"])
def test_rejects_token_invalid_in_header(monkeypatch, value):
    monkeypatch.setenv(server.TOKEN_VARIABLE, value)
    with pytest.raises(BadInput, match="visible ASCII"):
        server.read_token()


def test_missing_libraries_say_how_to_install(monkeypatch):
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"fastapi and uvicorn .* pip install 'leakgauge\[service\]'"):
        server.require_fastapi()
