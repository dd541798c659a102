"""What a thread holds while it waits: the database connection, which it gives back, and its client, who may leave."""

import socket

from django.db import connection
from django.http import HttpRequest


def release() -> None:
    """Give the connection back before a long wait: for a client, a grader, a score. Not inside a transaction."""
    if not connection.in_atomic_block:
        connection.close()


def has_left(request: HttpRequest) -> bool:
    """Whether the client has closed the connection, as far as the server tells (gunicorn does): nobody reads an answer.

    Octets that wait to be read are a next request, and are left where they are.
    """
    sock = request.META.get("gunicorn.socket")
    if sock is None:
        return False
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError, ValueError):  # the last: TLS of gunicorn's own, which takes no flags
        return False
    except OSError:  # reset
        return True
