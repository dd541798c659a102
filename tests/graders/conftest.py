"""A registered grader with its people, and real graders on this machine's loopback."""

import threading
from types import SimpleNamespace

import pytest
from autotune_sdk.grader import Grader as Kit
from autotune_sdk.grader.server import GraderServer

from autotune.core.outbound.addresses import parse_allow
from graders.models import Grader
from tests.factories import GraderFactory


@pytest.fixture
def owner(api_for):
    """A grader_owner's client; `owner.organization`, `owner.user`."""
    return api_for(role="grader_owner")


@pytest.fixture
def grader(owner):
    """An active grader that the owner made."""
    return GraderFactory(organization=owner.organization, created_by=owner.user, name="Law", description="Judges law")


@pytest.fixture
def path(grader):
    return f"/graders/{grader.public_id}"


@pytest.fixture
def colleague(api_for, owner):
    """`colleague(role)`: a client of another person in the owner's organization."""
    return lambda role: api_for(organization=owner.organization, role=role)


@pytest.fixture
def loopback(settings):
    """Outbound calls may reach this machine."""
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow("127.0.0.1/32:1024-65535")


@pytest.fixture
def serve(loopback):
    """`serve(secret, …)`: a grader of the kit on a free port; `.url`, `.kit`, `.seen` (prompts)."""
    servers = []

    def start(secret, version="2.1.0", max_batch_size=100, score=None, **kit):
        seen = []
        live_kit = Kit("live", version, secret=secret, max_batch_size=max_batch_size, **kit)

        @live_kit.score
        def judge(completion):
            seen.append(completion.prompt)
            return score(completion) if score else 0.5

        server = GraderServer(live_kit, port=0)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return SimpleNamespace(url=server.url, kit=live_kit, seen=seen)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def point_at(grader, loopback):
    """Point the owner's grader (secret SECRET, unverified) at a URL."""

    def point(url, **fields):
        Grader.objects.update(
            **{"endpoint": url, "status": "inactive", "verified_at": None, "version": None, "max_batch_size": 100}
            | fields
        )

    return point


@pytest.fixture
def verify():
    """`verify(api, path)`: (verified, checks by name)."""

    def call(api, path):
        answer = api.post(f"{path}/verify")
        assert answer.status_code == 200, answer.content
        body = answer.json()
        return body["verified"], {check["name"]: check for check in body["checks"]}

    return call
