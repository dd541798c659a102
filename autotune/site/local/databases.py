"""Name the database of a server that is about to start, and create it if it is missing."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from autotune.site.local.supervisor import SupervisorError

MAINTENANCE = "postgres"  # the database that every PostgreSQL server has
CONNECT_TIMEOUT_S = 5


def label(env: Mapping[str, str]) -> str:
    """Return a short name that identifies a database, free of secrets: `sqlite` or `postgres-` and 8 hex digits."""
    url = env.get("DATABASE_URL")
    if not url:
        return "sqlite"
    parts = urlsplit(url)
    # Several hosts (docs/operations.md) together name one server; the user before them may change.
    hosts = [host if ":" in host else f"{host}:5432" for host in parts.netloc.rpartition("@")[2].split(",")]
    place = f"{','.join(hosts)}{parts.path}"
    return f"postgres-{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def create_if_missing(url: str) -> bool:
    """Create the database that a postgres:// address names, and return whether it was created.

    raises SupervisorError if the server does not answer or refuses
    """
    name = _name(url)
    with _maintenance(url) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", (name,)).fetchone():
            return False
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        return True


def create_afresh(url: str) -> None:
    """Drop the database that a postgres:// address names, with all its data, and create it again."""
    name = sql.Identifier(_name(url))
    with _maintenance(url) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(name))
        connection.execute(sql.SQL("create database {}").format(name))


def sibling(url: str, name: str) -> str:
    """Return the address of another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _name(url: str) -> str:
    name = unquote(urlsplit(url).path[1:])
    if not name:
        raise SupervisorError("DATABASE_URL names no database: add its name, such as postgres://localhost/autotune")
    return name


@contextmanager
def _maintenance(url: str) -> Iterator[psycopg.Connection]:
    """Connect to the server's maintenance database, and report errors in one line."""
    place = urlsplit(url).netloc.rpartition("@")[2]
    try:
        with psycopg.connect(
            sibling(url, MAINTENANCE), autocommit=True, connect_timeout=CONNECT_TIMEOUT_S
        ) as connection:
            yield connection
    except psycopg.Error as exc:
        raise SupervisorError(f"PostgreSQL at {place}: {str(exc).strip().splitlines()[0]}") from exc
