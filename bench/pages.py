#!/usr/bin/env python3
"""Server time and queries of every page with 100,000 scores: `make bench-pages`.

Fills a database of its own (autotune_bench_pages beside the one named, or SQLite with --sqlite), then asks for each page
as an organization's administrator, in this process, through all middleware. Prints a markdown table; the promise is
200 ms and 20 queries a page.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT)]
LOCAL = "postgres://postgres@127.0.0.1:5432/postgres"
DATABASE = "autotune_bench_pages"
AT_MOST_MS, AT_MOST_QUERIES = 200, 20


def prepare(a):
    """An environment with an empty database, migrated."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    os.environ.setdefault("SECRET_KEY", "x" * 60)
    os.environ.setdefault("AUTOTUNE_ENCRYPTION_KEYS", "k1:" + "ab" * 32)
    os.environ["AUTOTUNE_DATA_DIR"] = tempfile.mkdtemp(prefix="autotune-pages-")
    if a.sqlite:
        os.environ["DATABASE_URL"] = os.environ["REDIS_URL"] = ""
    else:
        from autotune.site.local import databases

        base = os.environ.get("DATABASE_URL") or LOCAL
        os.environ["DATABASE_URL"] = databases.sibling(base, DATABASE)
        os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:6379/8")
        recreate(databases.sibling(base, databases.MAINTENANCE))
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def recreate(maintenance):
    import psycopg
    from psycopg import sql

    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(DATABASE)))
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))


def world(scores):
    """An administrator's client, and one id of each kind."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client

    from autotune.access.models import Membership, Organization, Role, User
    from bench import crowd

    settings.ALLOWED_HOSTS = ["testserver"]
    organization = Organization.objects.create(name="Meridian Labs")
    owner = User.objects.create(email="ada@example.org", name="Ada Byron")
    role = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=organization, user=owner, role=role)
    crowd.fill(organization, owner, scores)
    crowd.furnish(organization, owner)
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze" if connection.vendor == "postgresql" else "analyze")
    client = Client()
    client.force_login(owner)
    client.get("/")
    return client, crowd.ids_of(organization)


def measure(client, address, rounds):
    """(status, median ms, slowest ms, queries, KB of HTML)."""
    from django.db import connection

    statements = []

    def counted(execute, sql, params, many, context):
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(counted):
        answer = client.get(address)
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        answer = client.get(address)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        took.append((time.perf_counter() - begun) * 1000)
    return answer.status_code, statistics.median(took), max(took), len(statements), len(body) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scores", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sqlite", action="store_true", help="on the embedded engine")
    parser.add_argument("--only", default="", help="pages whose path holds this")
    a = parser.parse_args()
    prepare(a)
    from tools.page_routes import readable

    client, ids = world(a.scores)
    print("| page | status | median ms | slowest ms | queries | KB |\n| --- | --- | ---: | ---: | ---: | ---: |")
    missed = []
    for page in readable():
        if a.only not in page.path or any(kind not in ids for kind in page.kinds):
            continue
        status, median, slowest, queries, size = measure(client, page.address(ids), a.rounds)
        late = median > AT_MOST_MS or queries > AT_MOST_QUERIES or status >= 500
        missed += [page.path] if late else []
        print(
            f"| {page.path} | {status} | {median:.0f} | {slowest:.0f} | {queries} | {size:.0f} |{' MISSED' if late else ''}"
        )
    print(
        f"\n{a.scores:,} scores; at most {AT_MOST_MS} ms and {AT_MOST_QUERIES} queries: {'MISSED by ' + ', '.join(missed) if missed else 'kept'}"
    )
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
