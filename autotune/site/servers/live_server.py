"""Start the process `live`: uvicorn, which refuses new connections as soon as it receives a signal to stop.

`python -m autotune.site.servers.live_server --host 0.0.0.0 --port 8001 --workers 1`
"""

import argparse
from typing import Final

from uvicorn import Config, Server
from uvicorn.supervisors import Multiprocess

APPLICATION: Final = "autotune.site.servers.live:application"
PROTOCOL: Final = "autotune.site.servers.live_connections:PatientProtocol"
BACKLOG: Final = 4_096
KEEP_ALIVE_S: Final = 65
GRACE_S: Final = 30
HUNG_S: Final = 30  # a worker silent for this long is replaced; a start takes some seconds on a busy machine


class ClosingParent(Multiprocess):
    """Closes its listening sockets before it ends its workers.

    Uvicorn's parent keeps them until its last worker has ended. The kernel would go on accepting connections that
    nobody serves: they would hang until a reset.
    """

    def terminate_all(self) -> None:
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", required=True, type=int)
    parser.add_argument("--workers", required=True, type=int)
    parser.add_argument("--access-log", action="store_true", help="write a line for each request")
    parser.add_argument("--log-level", default="info")
    arguments = parser.parse_args()
    config = Config(
        APPLICATION,
        http=PROTOCOL,
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers,
        backlog=BACKLOG,
        access_log=arguments.access_log,
        log_level=arguments.log_level,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        timeout_worker_healthcheck=HUNG_S,
    )
    if config.workers > 1:
        ClosingParent(config, sockets=[config.bind_socket()]).run()
        return
    server = Server(config)
    server.run()
    if not server.started:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
