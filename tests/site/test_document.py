"""The OpenAPI document is the same for all, however many ask at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client

from autotune.site import document


@pytest.fixture
def new_process():
    document._generated.cache_clear()


def ask(_):
    return Client(raise_request_exception=False).get("/api/v1/schema")


@pytest.mark.django_db
def test_concurrent_first_requests_get_the_same_complete_document(new_process):
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(ask, range(8))]
    assert [answer.status_code for answer in answers] == [200] * 8
    assert {answer.content for answer in answers} == {document.content()}
    assert {answer["Content-Type"] for answer in answers} == {"application/vnd.oai.openapi+json"}


@pytest.mark.django_db
def test_the_document_is_generated_once(new_process, client):
    client.get("/api/v1/schema")
    client.get("/api/v1/schema?version=2", headers={"Accept": "text/html"})
    assert document._generated.cache_info().misses == 1
