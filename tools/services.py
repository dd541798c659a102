"""Find the PostgreSQL and Redis servers that tests and benchmarks may use.

Prints `DATABASE_URL=… REDIS_URL=…` on one line: those of the environment where set, else servers that answer on
127.0.0.1. Prints nothing when one of the two is missing; that is exit status 1 where it was named by the environment,
and with CI=true in any case.
"""

import os
import sys
from collections.abc import Callable

import psycopg
import redis

LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/autotune"
LOCAL_REDIS = "redis://127.0.0.1:6379/7"
TIMEOUT_S = 3


def postgres_fault(url: str) -> str | None:
    """Return why PostgreSQL at `url` cannot be used, or None. Its database need not exist; `postgres` must."""
    try:
        with psycopg.connect(psycopg.conninfo.make_conninfo(url, dbname="postgres", connect_timeout=TIMEOUT_S)) as db:
            row = db.execute("select rolcreatedb or rolsuper from pg_roles where rolname = current_user").fetchone()
    except psycopg.Error as exc:
        return str(exc).strip().splitlines()[0]
    return None if row and row[0] else "the role may not create databases, which the tests require"


def redis_fault(url: str) -> str | None:
    """Return why the Redis server at `url` cannot be used, or None."""
    try:
        with redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S) as client:
            client.ping()
    except (redis.RedisError, ValueError) as exc:
        return str(exc)
    return None


SERVICES: tuple[tuple[str, str, Callable[[str], str | None]], ...] = (
    ("DATABASE_URL", LOCAL_POSTGRES, postgres_fault),
    ("REDIS_URL", LOCAL_REDIS, redis_fault),
)


def find() -> tuple[dict[str, str], dict[str, str]]:
    """Return (URLs by variable, faults by variable)."""
    urls, faults = {}, {}
    for name, local, fault_of in SERVICES:
        url = os.environ.get(name) or local
        if fault := fault_of(url):
            faults[name] = f"{url.rsplit('@', 1)[-1]}: {fault}"
        else:
            urls[name] = url
    return urls, faults


def main() -> int:
    urls, faults = find()
    for name, fault in faults.items():
        print(f"{name}: {fault}", file=sys.stderr)
    if faults:
        must = os.environ.get("CI", "").lower() in {"1", "true"} or any(os.environ.get(name) for name in faults)
        return 1 if must else 0
    print(" ".join(f"{name}={url}" for name, url in urls.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
