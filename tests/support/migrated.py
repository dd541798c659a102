"""The database as the migrations leave it: made once, and copied wherever a test wants a new one.

On SQLite it is a file in pytest's cache folder, on PostgreSQL a database beside that of DATABASE_URL. It stays for the
next run, until something that the migrations are made of changes.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from psycopg import sql

from autotune.site.local import databases

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".pytest_cache" / "migrated"
MADE_OF = (  # the migrations, what they write or name, and the packages that bring some of their own
    "*/migrations/*.py", "autotune/*/migrations/*.py", "scores/*/migrations/*.py", "autotune/access/roles/builtin.py",
    "autotune/core/crypto/fields.py", "autotune/core/migration_operations.py", "scores/counters/triggers.py", "requirements.txt",
)  # fmt: skip
LONG_S = 24 * 60 * 60
FILE = "autotune.sqlite3"  # as the settings call it in AUTOTUNE_DATA_DIR


@cache
def source():
    """The path of the file, or the name of the database, that is to be copied."""
    KEPT.mkdir(parents=True, exist_ok=True)
    return _database() if settings.DATABASE_URL else str(_file())


def copy_to(env):
    """The new database of a server whose environment this is: `AUTOTUNE_DATA_DIR`, and `DATABASE_URL` or ""."""
    if env["DATABASE_URL"]:
        name, template = urlsplit(env["DATABASE_URL"]).path[1:], source()
        with _maintenance() as connection:
            connection.execute(
                sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template))
            )
    else:
        folder = Path(env["AUTOTUNE_DATA_DIR"])
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source(), folder / FILE)


def _file():
    path = KEPT / f"{_digest()}.sqlite3"
    with _exclusive("sqlite"):
        if not path.exists():
            for old in KEPT.glob("*.sqlite3"):
                if time.time() - old.stat().st_mtime > LONG_S:  # a younger one may be about to be copied
                    old.unlink()
            with tempfile.TemporaryDirectory() as data:
                _migrate(data, "")
                shutil.move(Path(data) / FILE, path)
    return path


def _database():
    """Its comment is the digest, so that one name serves for good."""
    name = f"{urlsplit(settings.DATABASE_URL).path[1:]}_migrated"
    url, identifier, digest = databases.sibling(settings.DATABASE_URL, name), sql.Identifier(name), _digest()
    with _exclusive(name), _maintenance() as connection:
        comment = connection.execute(
            "select shobj_description(oid, 'pg_database') from pg_database where datname = %s", [name]
        )
        if comment.fetchone() != (digest,):
            databases.create_afresh(url)
            with tempfile.TemporaryDirectory() as data:
                _migrate(data, url)
            connection.execute(sql.SQL("comment on database {} is {}").format(identifier, sql.Literal(digest)))
    return name


def _migrate(data, url):
    env = {**os.environ, "AUTOTUNE_DATA_DIR": data, "DATABASE_URL": url, "REDIS_URL": ""}
    command = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _digest():
    digest = hashlib.sha256()
    for path in sorted(path for pattern in MADE_OF for path in ROOT.glob(pattern) if path.is_file()):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def _exclusive(name):
    """One process at a time: the workers of a run begin together."""
    with open(KEPT / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _maintenance():
    return psycopg.connect(databases.sibling(settings.DATABASE_URL, databases.MAINTENANCE), autocommit=True)
