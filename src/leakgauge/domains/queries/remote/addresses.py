"""Where a service may be: on this machine, or at the other end of a line that nobody can listen to."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from leakgauge.core.errors import BadInput


def require_safe(url: str) -> None:
    """Refuse an address where a token or an answer could be read on its way, or written down."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadInput(f"url = {url!r}: is no address; write http://127.0.0.1:8700") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise BadInput(f"url = {url!r}: is no address; write http://127.0.0.1:8700")
    if parts.username is not None or parts.password is not None:
        raise BadInput("url: holds a name or password, which would be written to the manifest; use token")
    if parts.scheme == "http" and not _loopback(host):
        raise BadInput(
            f"url = {url!r}: another machine is asked over https only, for answers and tokens could be read "
            "on their way; http is for 127.0.0.1"
        )


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
