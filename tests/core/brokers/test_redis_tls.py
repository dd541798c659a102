"""TLS to Redis: no process sends its password to a server whose certificate does not verify."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from autotune.environment import broker_tls
from tests.support.tlsserver import Certificate

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = "hunter2-of-redis"
CLIENTS = {
    "celery": "from autotune.celery import app; app.connection_for_write().ensure_connection(max_retries=1, timeout=5)",
    "a message": "from autotune.celery import app; app.send_task('scores.score_pending', ['g'], retry=False)",
    "our own": "import django; django.setup(); from autotune.core import redis; redis._connected().ping()",
}


class Listener:
    """Accepts TLS, and keeps the bytes that arrive through it."""

    def __init__(self, certificate):
        self.context, self.content = certificate.context, bytearray()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError):
            while True:
                sock, _ = self.socket.accept()
                with suppress(OSError, ssl.SSLError), self.context.wrap_socket(sock, server_side=True) as wrapped:
                    self.content += wrapped.recv(65_536)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


def bytes_received(certificate, code, folder, *, options="", host="localhost"):
    listener = Listener(certificate)
    env = {
        "PATH": os.environ["PATH"],
        "AUTOTUNE_DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "autotune.settings",
        "REDIS_URL": f"rediss://:{PASSWORD}@{host}:{listener.port}/0{options}",
    }
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    listener.socket.close()
    assert completed.returncode != 0  # the listener is not a Redis server
    assert PASSWORD not in completed.stderr
    return bytes(listener.content)


@pytest.mark.parametrize("code", CLIENTS.values(), ids=CLIENTS)
def test_c41_an_unknown_authority_is_refused_before_the_password_is_sent(folder, code):
    assert bytes_received(Certificate(folder, ["localhost"]), code, folder) == b""


@pytest.mark.parametrize("code", CLIENTS.values(), ids=CLIENTS)
def test_c41_a_certificate_of_the_named_authority_for_another_host_is_refused(folder, code):
    certificate = Certificate(folder, ["other.example"], addresses=["127.0.0.9"])
    assert bytes_received(certificate, code, folder, options=f"?ssl_ca_certs={certificate.file}") == b""


@pytest.mark.parametrize("code", CLIENTS.values(), ids=CLIENTS)
def test_c41_a_certificate_of_the_named_authority_is_taken(folder, code):
    certificate = Certificate(folder, ["localhost"])
    received = bytes_received(certificate, code, folder, options=f"?ssl_ca_certs={certificate.file}")
    assert PASSWORD.encode() in received


@pytest.mark.parametrize(
    "url",
    [
        "rediss://host/0?ssl_cert_reqs=none",
        "rediss://host/0?ssl_cert_reqs=CERT_OPTIONAL",
        "rediss://host/0?ssl_check_hostname=false",
        "rediss://host/0?ssl_ca_certs=/no/such/file.pem",
        "redis://host/0?ssl_ca_certs=/etc/hosts",
    ],
)
def test_c41_verification_cannot_be_switched_off(url):
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL"):
        broker_tls(url)


def test_without_tls_there_is_nothing_to_verify():
    assert broker_tls("redis://host:6379/0") is None
    assert broker_tls("redis://host:6379/0?health_check_interval=3") is None
