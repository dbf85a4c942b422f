import socket

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.service import serving


def test_it_listens_on_this_machine_alone():
    with serving.listen(0) as door:
        host, port = door.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port), timeout=1):
            pass


def test_a_port_that_is_taken_or_none_is_refused():
    with serving.listen(0) as door, pytest.raises(BadInput, match="choose another --port"):
        serving.listen(door.getsockname()[1])
    with pytest.raises(BadInput, match=r"port must be in 0\.\.65535"):
        serving.listen(70_000)


def test_a_token_is_that_of_the_environment_or_a_long_one_nobody_can_guess(monkeypatch):
    monkeypatch.setenv(serving.TOKEN, "mine")
    assert serving.token() == ("mine", False)
    monkeypatch.delenv(serving.TOKEN)
    (one, made_up), (other, _) = serving.token(), serving.token()
    assert made_up
    assert one != other
    assert len(one) >= 32


@pytest.mark.parametrize("value", ["", " ", "a\nb", "schlüssel"])
def test_a_token_that_no_header_can_hold_is_refused(monkeypatch, value):
    monkeypatch.setenv(serving.TOKEN, value)
    with pytest.raises(BadInput, match="visible ASCII"):
        serving.token()


def test_missing_libraries_are_named_with_the_way_to_get_them(monkeypatch):
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"fastapi and uvicorn .* pip install 'leakgauge\[service\]'"):
        serving.require_libraries()
