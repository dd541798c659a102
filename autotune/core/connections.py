"""Connections of a waiting thread: releases the one to the database, and detects that the client has left."""

import socket
from typing import Final

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest

# PostgreSQL's class is "invalid transaction state", but the statement is not at fault. Django raises InternalError.
READ_ONLY: Final = psycopg.errors.ReadOnlySqlTransaction
ENDED: Final = psycopg.errors.IdleInTransactionSessionTimeout
# Every class for which `is_away` may be true. The pool raises some of psycopg's own, outside of Django's wrapper.
ERRORS: Final = (DatabaseError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


def release() -> None:
    """Release the database connection before a long wait for a client, grader or score. Not inside a transaction."""
    if not connection.in_atomic_block:
        connection.close()


def has_left(request: HttpRequest) -> bool:
    """Whether the client has closed the connection, so that nobody reads an answer. Only gunicorn reports this.

    Bytes that wait to be read belong to a next request, and stay unread.
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


def refuses_writes(exc: BaseException | None) -> bool:
    """Whether a statement failed because the server accepts no writes: a standby, or a failover under way."""
    return isinstance(exc, DatabaseError) and isinstance(exc.__cause__, READ_ONLY)


def is_away(exc: BaseException | None) -> bool:
    """Whether a statement failed because of the server or the network, so that a later retry may succeed."""
    if isinstance(exc, OperationalError | InterfaceError | psycopg.OperationalError | psycopg.InterfaceError):
        return True
    return refuses_writes(exc) or (isinstance(exc, DatabaseError) and isinstance(exc.__cause__, ENDED))
