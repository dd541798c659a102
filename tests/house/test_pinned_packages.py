"""Some modules use private parts of packages. Another minor version of such a package fails here until it is checked.

To accept a new version: compare the parts in `uses` with the package's new source, run the tests in `recheck` on both
engines, then change `minor`.
"""

import importlib
import inspect
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Pin:
    """A package of which our modules use private parts.

    minor    the version that was checked: major and minor
    modules  our files that depend on it
    uses     module of the package -> names in its source that ours override, call or set
    recheck  the tests that show whether ours still work
    """

    minor: str
    modules: tuple[str, ...]
    uses: dict[str, str]
    recheck: tuple[str, ...]


PINS = {
    "gunicorn": Pin(
        "27.0",
        ("autotune/site/servers/worker.py", "autotune/site/servers/timed_socket.py", "autotune/site/servers/refusals.py"),
        {
            "gunicorn.workers.gthread": (
                "TConn ThreadWorker accept enqueue_req handle finish_request murder_pending set_accept_enabled "
                "init_process run close init parser data_ready timeout is_ssl take_buffered worker_connections "
                "keepalived_conns max_keepalived popleft nr_conns poller method_queue defer sockets alive"
            ),
            "gunicorn.workers.base": "handle_error",
            "gunicorn.http.unreader": "take_buffered unread sock",
            "gunicorn.http.wsgi": "sendall sendfile gunicorn.socket",
            "gunicorn.http.errors": "LimitRequestLine LimitRequestHeaders InvalidHTTPVersion UnsupportedTransferCoding",
        },
        (
            "tests/site/test_worker.py", "tests/site/test_timed_socket.py", "tests/hostile/test_connections.py",
            "tests/hostile/test_h_http.py", "tests/processes/test_draining.py",
        ),
    ),
    "kombu": Pin(
        "5.7",
        ("autotune/core/brokers/files.py", "autotune/core/brokers/redis_transport.py"),
        {
            "kombu.transport": "TRANSPORT_ALIASES",
            "kombu.transport.filesystem": (
                "_get _put _queue_bind get_table control_folder data_folder_in data_folder_out processed_folder"
            ),
            "kombu.transport.redis": "QoS ack restore_visible restore_unacked _delivered connection_errors client",
            "kombu.transport.virtual.base": "_delivered _quick_ack",
        },
        (
            "tests/core/brokers/test_filebroker.py", "tests/core/brokers/test_redisbroker.py",
            "tests/processes/test_full_redis.py", "tests/processes/test_outages.py",
        ),
    ),
    "uvicorn": Pin(
        "0.54",
        ("autotune/site/servers/live_connections.py", "autotune/site/servers/live_server.py"),
        {
            "uvicorn.protocols.http.h11_impl": (
                "H11Protocol connection_made connection_lost data_received on_response_complete pause_writing "
                "resume_writing timeout_keep_alive_handler send_400_response cycle more_body response_started "
                "response_complete connections client conn loop transport"
            ),
            "uvicorn.supervisors.multiprocess": "terminate_all sockets",
        },
        ("tests/hostile/test_connections.py", "tests/processes/test_live.py", "tests/processes/test_draining.py"),
    ),
    "psycopg-pool": Pin(
        "3.3",
        ("autotune/core/postgresql/pool.py",),
        {"psycopg_pool.pool": "getconn putconn _lock _waiting fail reconnect_failed drain"},
        ("tests/core/test_database_pool.py", "tests/processes/test_outages.py"),
    ),
    "django": Pin(
        "5.2",
        ("autotune/core/postgresql/base.py",),
        {"django.db.backends.postgresql.base": "_connection_pools _configure_connection pool"},
        ("tests/core/test_database_pool.py",),
    ),
}  # fmt: skip


@pytest.fixture(params=PINS)
def package(request):
    return request.param


def test_the_installed_version_was_checked(package):
    pin, version = PINS[package], metadata.version(package)
    assert minor_of(version) == pin.minor, (
        f"{package} is now {version}, but {', '.join(pin.modules)} was checked with {pin.minor}. Compare "
        f"{', '.join(pin.uses)} of both versions, run {' '.join(pin.recheck)}, then change `minor` in this file."
    )


def test_the_requirements_install_no_other_minor_version(package):
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{package}==")]
    assert minor_of(line.removeprefix(f"{package}==")) == PINS[package].minor


def test_the_package_still_has_the_parts_that_our_modules_use(package):
    missing = [
        f"{module}: {name}"
        for module, names in PINS[package].uses.items()
        for name in names.split()
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", inspect.getsource(importlib.import_module(module)))
    ]
    assert missing == []


def test_the_files_and_tests_that_a_pin_names_exist(package):
    pin = PINS[package]
    assert [path for path in (*pin.modules, *pin.recheck) if not (ROOT / path).is_file()] == []
    importers = [path for path in pin.modules if re.search(rf"^from {module_of(package)}\b", text_of(path), re.M)]
    assert importers, "none of its modules imports the package any more: remove the pin"


def minor_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def module_of(package: str) -> str:
    return package.replace("-", "_")


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(("version", "minor"), [("27.0.1", "27.0"), ("5.10", "5.10"), ("5.2.19.post1", "5.2")])
def test_the_minor_version_is_the_first_two_numbers(version, minor):
    assert minor_of(version) == minor
