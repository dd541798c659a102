"""Fixtures that every test may use. The engine is the environment's: SQLite, or DATABASE_URL and REDIS_URL."""

import atexit
import glob
import json
import logging
import os
import shutil
import tempfile

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from whitenoise.middleware import WhiteNoiseMiddleware

from autotune.access.accounts import mailing
from autotune.access.models import Membership, Organization, Role
from autotune.access.models.audit import INSTALLATION
from autotune.core.crypto import encryption
from autotune.core.logs import RepeatFilter
from autotune.core.models import DataKey
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory
from tests.support import browsing, emptying, migrated
from tests.support.engines import depends_on_the_engine, uses_a_database

ON_POSTGRES = bool(settings.DATABASE_URL)
ON_REDIS = bool(settings.REDIS_URL)
HEAVIEST = "test_no_plaintext.py"
LONG_S = 300
if settings.EXPORT_STORAGE is None:  # files of exports that a test makes go with it
    settings.STORAGES["exports"]["OPTIONS"]["location"] = tempfile.mkdtemp(prefix="autotune-exports-")
    atexit.register(shutil.rmtree, settings.STORAGES["exports"]["OPTIONS"]["location"], ignore_errors=True)
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # argon2 takes 100 MiB and 50 ms a login
settings.KEY_RATE_PER_MINUTE = settings.FAILURE_RATE_PER_MINUTE = 0  # the tests of throttling set their own
settings.LIVE_COUNTS_EVERY_S = 0  # no thread writes in the middle of another test


def pytest_addoption(parser):
    parser.addoption(
        "--engine-only",
        action="store_true",
        help="leave out what cannot depend on the engine (tests/support/engines.py)",
    )


def pytest_collection_modifyitems(config, items):
    """Tests that need a server are left out where it is not configured; in CI its absence is a failure."""
    _keep_what_migrations_wrote(items)
    items.sort(key=_turn)
    items[:] = _spread(items)
    lacking = {"postgres"} - ({"postgres"} if ON_POSTGRES else set()) | ({"redis"} - ({"redis"} if ON_REDIS else set()))
    chosen, left = [], []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        needless = config.getoption("--engine-only") and not depends_on_the_engine(item)
        (left if needless or lacking & marks else chosen).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = chosen


def _turn(item):
    """Tests of processes come first, so that one worker waits for them while the others compute, and none is left to the end
    at the end. The others stay as pytest-django ordered them: those that commit after those that do not."""
    waits = item.get_closest_marker("processes") and not uses_a_database(item)
    return (not waits, item.path.name != HEAVIEST)


def _spread(items):
    """Tests of pages take seconds each. They run among the quick tests without a database, which are the last, so that
    no worker is given all of them while the others have nothing left; walks over every page, which take minutes, before."""
    pages = [item for item in items if item.get_closest_marker("pages")]
    slow = [item for item in pages if not _is_long(item)]
    rest = [item for item in items if not item.get_closest_marker("pages")]
    first = next((at for at, item in enumerate(rest) if _commits(item)), len(rest))
    rest[first:first] = filter(_is_long, pages)
    start = len(rest)
    while start and not uses_a_database(rest[start - 1]):
        start -= 1
    mixed = list(rest[:start])
    for at, item in enumerate(slow):
        begin, end = (start + n * (len(rest) - start) // len(slow) for n in (at, at + 1))
        mixed += [item, *rest[begin:end]]
    return mixed if slow else rest


def _is_long(item):
    """Whether it was given more time than others, as a walk over every page is."""
    marker = item.get_closest_marker("timeout")
    return marker is not None and marker.args[0] >= LONG_S


def _keep_what_migrations_wrote(items):
    """A test that commits ends by emptying the tables; the built-in roles and content types must come back with it."""
    for item in items:
        if _commits(item):
            item.fixturenames.append("django_db_serialized_rollback")
            if marker := item.get_closest_marker("django_db"):  # then pytest-django reads only the marker
                whole = pytest.mark.django_db(*marker.args, **{**marker.kwargs, "serialized_rollback": True})
                item.add_marker(whole, append=False)


def _commits(item):
    marker = item.get_closest_marker("django_db")
    commits = marker is not None and marker.kwargs.get("transaction")
    return commits or bool({"transactional_db", "live_server"} & set(item.fixturenames))


def pytest_sessionstart(session):
    """The migrations run here, where no test's time limit meets them."""
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        migrated.source()


@pytest.fixture(autouse=True)
def _no_repeats_across_tests():
    """Clear the repeat filters, which would otherwise drop a line that an earlier test has logged."""
    for logger in list(logging.root.manager.loggerDict.values()):
        for repeats in getattr(logger, "filters", ()):
            if isinstance(repeats, RepeatFilter):
                repeats._passed.clear()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix):
    """The tests' database begins as a copy of the migrated one."""
    test_settings = settings.DATABASES["default"]["TEST"]
    if ON_POSTGRES:
        test_settings["TEMPLATE"] = migrated.source()
    else:
        shutil.copyfile(migrated.source(), test_settings["NAME"])


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb):
    """On SQLite the file is there before Django asks for it, and must not be created again."""
    return django_db_keepdb or not ON_POSTGRES


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """A test that commits ends by emptying the tables, so the trail's guards are off but in the tests about them."""
    from tests.access.audit import guards

    with django_db_blocker.unblock():
        guards.off()
        if hasattr(connection, "_test_serialized_contents"):  # only if a test commits
            emptying.install(connection)
    yield
    if not ON_POSTGRES:
        connection.close()
        for left in glob.glob(f"{connection.settings_dict['NAME']}*"):
            os.unlink(left)


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_found_once():
    """Each test's client creates its middleware again; WhiteNoise took 20 ms of that to walk the static files."""
    walk, files_by_prefix = WhiteNoiseMiddleware.add_files_from_finders, {}

    def remembered(middleware):
        prefix = middleware.static_prefix
        if prefix not in files_by_prefix:
            walk(middleware)
            files_by_prefix[prefix] = dict(middleware.files)
        middleware.files = {**files_by_prefix[prefix], **middleware.files}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remembered)
        yield


SERVERS_OWN = encryption._once_committed


@pytest.fixture
def committed_keys_only(monkeypatch):
    """The keyring keeps what it keeps beside the server: in a test that does not commit, nothing."""
    monkeypatch.setattr(encryption, "_once_committed", SERVERS_OWN)


@pytest.fixture(autouse=True)
def _mail_is_sent_within_the_test():
    """Mail is sent on other threads; without this, a mail of one test may arrive in the outbox of the next."""
    yield
    pool, mailing._pool = mailing._pool, None
    if pool:
        pool.shutdown(wait=True)


@pytest.fixture(autouse=True)
def _fresh_keyring(request, monkeypatch):
    """Data keys of a rolled-back test must not be met again. Within it they are kept, as if it had committed them: where
    everything is one transaction, each encrypted value asked for its data key, a fifth of the suite's time."""
    encryption.keyring.clear()
    if not _commits(request.node):
        monkeypatch.setattr(encryption, "_once_committed", _once_committed)
    yield
    encryption.keyring.clear()


def _once_committed(keep):
    """What the test itself writes, outside of any transaction of the server's, counts as committed: one savepoint deep."""
    within = connection.in_atomic_block and len([savepoint for savepoint in connection.savepoint_ids if savepoint]) > 1
    transaction.on_commit(keep) if within else keep()


@pytest.fixture
def keys_at_hand():
    """`keys_at_hand()`: from now on the data keys are opened, as in a process that used them in transactions before."""

    def hold():
        for row in DataKey.objects.filter(retired_at=None):
            key = encryption.unwrap(row)
            if row.period == encryption.DIGEST_PERIOD:
                encryption.keyring.digests[row.scope] = key
            else:
                encryption.keyring.opened[row.pk] = AESGCM(key)

    return hold


class Api:
    """A client of the API: JSON in and out, with a key. `last` is the last response."""

    def __init__(self, key: str | None = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.key = key

    def call(self, method, path, body=None, *, raw=None, content_type="application/json", **headers):
        extra = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        if self.key and "HTTP_AUTHORIZATION" not in extra:
            extra["HTTP_AUTHORIZATION"] = f"Bearer {self.key}"
        data = raw if raw is not None else (b"" if body is None else json.dumps(body).encode())
        self.last = self.client.generic(method, f"/api/v1{path}", data, content_type=content_type, **extra)
        return self.last

    def get(self, path, **headers):
        return self.call("GET", path, **headers)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def patch(self, path, body=None, **more):
        return self.call("PATCH", path, body, **more)

    def delete(self, path, **more):
        return self.call("DELETE", path, **more)


@pytest.fixture
def api_for(db):
    """`api_for(role=…, organization=…, kind=…)`: an Api with a fresh key of that role."""

    def make(**key):
        api_key = ApiKeyFactory(**key)
        api = Api(api_key.text)
        api.api_key, api.organization, api.user = api_key, api_key.organization, api_key.user
        return api

    return make


def with_data_keys(assertion):
    """Wrap a query assertion so that every organization has its data keys before it starts.

    The first text of a month creates a data key, in six queries that no later call needs.
    """

    def assertion_with_keys(*arguments, **options):
        for scope in (INSTALLATION, *Organization.objects.values_list("pk", flat=True)):
            encryption.cipher_for(scope)
            encryption.digest_key(scope)
        return assertion(*arguments, **options)

    return assertion_with_keys


@pytest.fixture
def django_assert_max_num_queries(django_assert_max_num_queries):
    return with_data_keys(django_assert_max_num_queries)


@pytest.fixture
def django_assert_num_queries(django_assert_num_queries):
    return with_data_keys(django_assert_num_queries)


@pytest.fixture
def operating(db):
    """The operating organization: the first one."""
    from tests.factories import OrganizationFactory

    return OrganizationFactory(operating=True)


@pytest.fixture
def admin_api(api_for, operating):
    return api_for(organization=operating, role="admin")


@pytest.fixture
def vendor():
    return connection.vendor


@pytest.fixture(scope="session")
def chromium_path():
    path = browsing.installed()
    if not os.path.exists(path):
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing; CI must have it")
        pytest.skip(f"no Chromium at {path}: name one in CHROMIUM")
    return path


@pytest.fixture
def visitor(db):
    """`visitor(role, organization=None)`: a client that is logged in; it has `.organization` and `.user`."""

    def make(role="organization_admin", organization=None, user=None):
        client = Client()
        client.organization = organization or OrganizationFactory()
        client.user = user or UserFactory()
        role = role if isinstance(role, Role) else Role.objects.get(organization=None, name=role)
        Membership.objects.create(organization=client.organization, user=client.user, role=role)
        client.force_login(client.user)
        return client

    return make
