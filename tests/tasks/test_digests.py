"""Digests: equal prompts and answers have equal ones, at intake and for what was stored before there were any."""

import hashlib
import hmac

import pytest

from autotune.core.crypto import encryption
from autotune.core.models import DataKey
from tasks import filling
from tasks.digests import SIZE, UNREADABLE, Digester
from tasks.models import Completion
from tests.factories import CompletionFactory, TaskFactory, public

pytestmark = pytest.mark.django_db
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]


@pytest.fixture
def task(db):
    return TaskFactory()


@pytest.fixture
def digester(task):
    return Digester(task.organization_id)


def framed(*parts):
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def test_they_are_hmacs_under_the_organizations_digest_key(task, digester):
    key = encryption.digest_key(task.organization_id)
    whole = hmac.digest(key, framed(b"prompt", "2 + 2? \U0001f600".encode(), b"4"), hashlib.sha256)
    prompt_digest = hmac.digest(key, framed(b"prompt", "2 + 2? \U0001f600".encode()), hashlib.sha256)
    assert digester.stored("2 + 2? \U0001f600", None, "4") == (prompt_digest[:SIZE], whole[:SIZE])
    assert digester.answer("2 + 2? \U0001f600", None, "4") == whole


def test_another_organization_has_different_digests(digester):
    assert Digester(TaskFactory().organization_id).stored("p", None, "r") != digester.stored("p", None, "r")


def test_messages_are_equal_whatever_the_order_of_their_members_and_another_prompt_than_their_last_text(digester):
    turned = [dict(reversed(message.items())) for message in MESSAGES]
    assert digester.stored("2 + 2?", MESSAGES, "4") == digester.stored("2 + 2?", turned, "4")
    assert digester.stored("2 + 2?", MESSAGES, "4")[0] != digester.stored("2 + 2?", None, "4")[0]
    assert digester.stored("2 + 2?", MESSAGES[1:], "4")[0] != digester.stored("2 + 2?", MESSAGES, "4")[0]


def test_parts_do_not_run_together(digester):
    assert digester.stored("ab", None, "c")[1] != digester.stored("a", None, "bc")[1]


def test_intake_stores_them(api_for):
    api = api_for(role="training_operator")
    task = TaskFactory(organization=api.organization)
    common = {"taskId": public("task", task), "modelId": "m", "response": "4"}
    items = [
        {**common, "prompt": "2 + 2?"},
        {**common, "messages": MESSAGES},
        {**common, "prompt": "2 + 2?", "modelId": "n"},
    ]
    answer = api.post("/completions/batch", {"completions": items})
    assert answer.status_code == 202, answer.content
    completion_ids = [completion["id"] for completion in answer.json()["completions"]]
    rows = {row.public_id: (bytes(row.prompt_digest), bytes(row.answer_digest)) for row in Completion.objects.all()}
    digester = Digester(api.organization.pk)
    first, second, third = (rows[name] for name in completion_ids)
    assert first == third == digester.stored("2 + 2?", None, "4")
    assert second == digester.stored("2 + 2?", MESSAGES, "4")


def digests(completion):
    return Completion.objects.values_list("prompt_digest", "answer_digest").get(pk=completion.pk)


def test_older_completions_get_digests_in_batches(task, digester, monkeypatch):
    monkeypatch.setattr(filling, "AT_ONCE", 2)
    older = [CompletionFactory(task=task, response=str(n)) for n in range(5)]
    chat = CompletionFactory(task=task, messages=MESSAGES)
    elsewhere = CompletionFactory()
    assert filling.work() == 7
    for completion in (*older, chat):
        expected = digester.stored(completion.prompt, completion.messages, completion.response)
        assert tuple(map(bytes, digests(completion))) == expected
    assert bytes(digests(elsewhere)[0]) == Digester(elsewhere.organization_id).stored("What is 2 + 2?", None, "4")[0]
    assert filling.work() == 0


def test_erased_completions_get_none(task):
    completion = CompletionFactory(task=task, prompt=None, response=None, erased_at="2026-01-01T00:00:00Z")
    assert filling.work() == 0
    assert digests(completion) == (None, None)


def test_unreadable_completions_are_logged_once_and_skipped(task, caplog):
    lost = CompletionFactory(task=task)
    DataKey.objects.exclude(period=encryption.DIGEST_PERIOD).delete()
    encryption.keyring.clear()
    kept = CompletionFactory(task=task)
    assert filling.work() == 2
    assert bytes(digests(lost)[0]) == UNREADABLE
    assert len(bytes(digests(kept)[0])) == SIZE
    assert lost.public_id in caplog.text
    assert filling.work() == 0


def test_a_missing_master_key_marks_nothing(task, settings):
    completion = CompletionFactory(task=task)
    Digester(task.organization_id)
    settings.AUTOTUNE_ENCRYPTION_KEYS, settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = "k2:" + "cd" * 32, None
    encryption.keyring.clear()
    with pytest.raises(encryption.MasterKeyMissing):
        filling.work()
    assert digests(completion) == (None, None)
