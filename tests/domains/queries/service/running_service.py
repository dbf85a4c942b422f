"""The service in a thread of this process, over real connections."""

import threading
from contextlib import contextmanager

from leakgauge.domains.queries.service import server as service_server

TOKEN = "a-token-of-ours"


@contextmanager
def served(rounds):
    door = service_server.listen(0)
    server = service_server.http_server(rounds, TOKEN)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        door.close()
