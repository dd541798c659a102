"""The published client against the server's API over HTTP, with a grader that speaks the protocol."""

import threading
import time

import pytest
from autotune_sdk import AutotuneClient, Capabilities, Limits

from autotune.core.outbound import engine
from graders.models import Grader
from scores.engine.drain import Drain, callable_grader
from tests.factories import ApiKeyFactory
from tests.support.broker import memory_broker
from tests.support.fakes import FakeGrader, serving


@pytest.fixture
def key():
    return ApiKeyFactory(role="organization_admin")


@pytest.fixture
def client(live_server, key):
    with memory_broker(), AutotuneClient(key.text, live_server.url, timeout_s=20, max_retries=0) as sdk_client:
        yield sdk_client


@pytest.fixture
def fake():
    with serving(
        FakeGrader(lambda completion: {"value": len(completion["response"]) / 100, "confidence": 0.5})
    ) as fake_grader:
        yield fake_grader


@pytest.fixture
def grader(client, fake):
    """A grader that was registered and verified through the client."""
    registration = client.graders.create(
        name="Length",
        description="How long it is.",
        endpoint=fake.url,
        capabilities=Capabilities(
            max_batch_size=50, supports_dimensions=True, supports_explanations=True, supports_async=False,
            avg_latency_ms=5, domains=("length",),
        ),
        limits=Limits(max_concurrency=4),
    )  # fmt: skip
    fake.secret = registration.credentials.shared_secret
    assert client.graders.verify(registration.grader.id).verified
    return client.graders.get(registration.grader.id)


@pytest.fixture
def task(client, grader):
    return client.tasks.create(name="Lengths", prompt_template="{{question}}", grader_id=grader.id)


@pytest.fixture
def score():
    """`score()`: what a worker would do now."""

    def run():
        for pk in Grader.objects.values_list("pk", flat=True):
            Drain(callable_grader(pk), until=time.monotonic() + 20, is_woken=threading.Event().is_set).run()

    yield run
    engine.engine().abandon()
