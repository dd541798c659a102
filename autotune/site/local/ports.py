"""Find free ports of this machine, and check that our own processes answer on theirs."""

import socket
from collections.abc import Iterable

from autotune.site.local.supervisor import SupervisorError

LOOPBACK = "127.0.0.1"


class PortInUse(SupervisorError):
    """Another process listens on the port that a process of the tree needs."""


def require_port(port: int, *, host: str = LOOPBACK, hint: str) -> None:
    """Check that a port is free, so that a taken one is not just a traceback in some log.

    raises PortInUse with the hint
    """
    if not port_is_free(port, host=host):
        raise PortInUse(f"port {port} on {host} is in use; {hint}")


def port_is_free(port: int, *, host: str = LOOPBACK) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError:
            return False
    return True


def free_port(candidates: Iterable[int], *, host: str = LOOPBACK) -> int:
    """Return the first of the candidates that nobody listens on.

    raises PortInUse if there is none
    """
    for port in candidates:
        if port_is_free(port, host=host):
            return port
    raise PortInUse(f"no free port among the candidates on {host}")


def answers(port: int, path: str, *, host: str = LOOPBACK, timeout_s: float = 2.0) -> bool:
    """Return whether one of our own processes answers GET `path` with a 2xx status."""
    request = f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(request.encode())
            status = connection.recv(64)
    except OSError:
        return False
    return status.startswith(b"HTTP/1.") and status[9:10] == b"2"


def listens(port: int, *, host: str = LOOPBACK) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1.0):
            return True
    except OSError:
        return False
