"""API keys: their form, what makes one unusable at the next request, and what is kept of them."""

import hashlib
import re
import zlib
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from autotune.access.keys import tokens
from autotune.access.models import ApiKey, Membership
from autotune.access.principal import Principal
from autotune.core import ids
from tests.factories import ApiKeyFactory, GraderFactory

pytestmark = pytest.mark.django_db
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def key():
    return ApiKeyFactory()


@pytest.mark.parametrize("kind", ["live", "test"])
def test_a_key_has_the_form_of_the_contract(kind):
    key = ApiKeyFactory(kind=kind)
    match = re.fullmatch(rf"at_{kind}_([0-9a-z]{{26}})_([0-9A-Za-z]{{43}})([0-9A-Za-z]{{6}})", key.text)
    assert ids.decode("key", f"key_{match[1]}") == key.pk
    number = 0
    for char in match[3]:
        number = number * 62 + BASE62.index(char)
    assert number == zlib.crc32(key.text[:-6].encode())
    assert key.text.endswith(key.last_four)


def test_two_keys_share_no_secret():
    first, second = ApiKeyFactory(), ApiKeyFactory()
    assert first.text.split("_")[3] != second.text.split("_")[3]


def test_only_the_sha_256_of_a_key_is_in_the_table(key):
    assert bytes(ApiKey.objects.get().digest) == hashlib.sha256(key.text.encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute("select * from access_apikey")
        row = " ".join(str(bytes(v) if isinstance(v, memoryview) else v) for v in cursor.fetchone())
    secret = key.text.split("_")[3]
    assert secret not in row
    assert secret[:10] not in row


def test_a_valid_key_loads_everything_a_request_needs_in_one_query(key, django_assert_num_queries):
    ApiKey.objects.update(last_used_at=timezone.now())
    with django_assert_num_queries(1):
        api_key = tokens.find(key.text)
        assert (api_key.organization, api_key.role, api_key.user) == (key.organization, key.role, key.user)


def altered(text):
    """Other texts, each near to a key."""
    head, secret = text[:-49], text[-49:-6]
    yield from ("", " ", text + " ", " " + text, text + "\n", text + "\x00", text[:-1], text + "0", text.swapcase())
    yield from (text.upper(), text.lower(), text.replace("live", "test"), text.replace("at_", "AT_"), "é" * 90)
    yield text[:-1] + ("0" if text[-1] != "0" else "1")
    yield text[:30] + ("0" if text[30] != "0" else "1") + text[31:]
    yield head + secret[::-1] + text[-6:]
    yield "x" * 2**20
    yield text * 100


def test_a_malformed_key_is_rejected_without_a_query(key, django_assert_num_queries):
    with django_assert_num_queries(0):
        for text in altered(key.text):
            assert tokens.find(text) is None, text[:100]


def with_checksum(head):
    return head + tokens._checksum(head)


def test_a_well_formed_key_that_was_never_issued_is_not_found(key):
    _, kind, key_id, _ = key.text.split("_")
    assert tokens.find(with_checksum(f"at_{kind}_{key_id}_{'a' * 43}")) is None
    unknown = ids.encode("key", ids.new()).removeprefix("key_")
    assert tokens.find(with_checksum(f"at_{kind}_{unknown}_{key.text.split('_')[3][:43]}")) is None
    other = ApiKeyFactory()  # the secret of one key with the id of another
    assert tokens.find(with_checksum(f"at_{kind}_{key_id}_{other.text.split('_')[3][:43]}")) is None
    assert tokens.find(with_checksum(key.text[:-6].replace("_live_", "_test_"))) is None


UNUSABLE = {
    "revoked": lambda key: tokens.revoke(key),
    "expired": lambda key: ApiKey.objects.update(expires_at=timezone.now()),
    "long expired": lambda key: ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=365)),
    "suspended": lambda key: type(key.organization).objects.update(suspended=True),
    "inactive": lambda key: type(key.user).objects.update(is_active=False),
    "deleted": lambda key: ApiKey.objects.all().delete(),
}


@pytest.mark.parametrize("end", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_key_that_ended_is_401_at_the_next_request(api_for, end):
    api = api_for()
    assert api.get("/tasks").status_code == 200
    end(api.api_key)
    answer = api.get("/tasks")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["detail"] == "The API key is not valid."  # whatever the reason


def test_a_key_that_expires_later_works(api_for):
    assert api_for(expires_at=timezone.now() + timedelta(hours=1)).get("/tasks").status_code == 200


def test_revoking_again_keeps_the_first_time(key):
    tokens.revoke(key)
    first = ApiKey.objects.get().revoked_at
    tokens.revoke(key)
    assert ApiKey.objects.get().revoked_at == first is not None


def test_the_last_use_is_noted_at_most_once_a_minute(key, django_assert_num_queries):
    assert ApiKey.objects.get().last_used_at is None
    with django_assert_num_queries(2):
        tokens.find(key.text)
    noted = ApiKey.objects.get().last_used_at
    assert timezone.now() - noted < timedelta(seconds=30)
    with django_assert_num_queries(1):
        tokens.find(key.text)
    assert ApiKey.objects.get().last_used_at == noted
    ApiKey.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    tokens.find(key.text)
    assert timezone.now() - ApiKey.objects.get().last_used_at < timedelta(seconds=30)


def test_an_unusable_key_does_not_update_its_last_use(key):
    tokens.revoke(key)
    assert tokens.find(key.text) is None
    assert ApiKey.objects.get().last_used_at is None


def test_a_test_key_uses_only_graders_of_its_own_organization(api_for):
    listed = GraderFactory(visibility="listed")
    live = api_for(role="training_operator")
    test = api_for(role="training_operator", kind="test", organization=live.organization)
    own = GraderFactory(organization=live.organization)
    assert {grader["id"] for grader in live.get("/graders").json()["graders"]} == {own.public_id, listed.public_id}
    assert {grader["id"] for grader in test.get("/graders").json()["graders"]} == {own.public_id}
    body = {"name": "T", "promptTemplate": "{{q}}", "graderId": listed.public_id}
    answer = test.post("/tasks", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/graderId")
    assert live.post("/tasks", body).status_code == 201
    assert test.post("/tasks", body | {"name": "U", "graderId": own.public_id}).status_code == 201


def test_a_principal_knows_whether_its_key_is_for_tests(key):
    test = ApiKeyFactory(kind="test")
    assert Principal(test.organization, test.role, test.user, test).is_test
    assert not Principal(key.organization, key.role, key.user, key).is_test
    assert not Principal(key.organization, key.role, key.user).is_test


def test_a_person_who_left_the_organization_has_no_key_there(db):
    key = ApiKeyFactory()
    Membership.objects.filter(user=key.user).delete()
    assert tokens.find(key.text) is None
