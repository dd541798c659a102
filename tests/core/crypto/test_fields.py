"""Encrypted fields: the attribute reads plain, the column holds ciphertext, and what cannot know its row is refused."""

import pytest
from django.db import connection, transaction

from autotune.core.crypto.encryption import Undecryptable
from autotune.core.crypto.fields import Ciphertext, EncryptedField, encrypted
from graders.models import GraderSecret
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, TaskFactory

PROMPT = "What is 2 + 2? \u202e \U0001f600 e\u0301"
METADATA = {"z": 1, "a": [None, True, 1.5, "\u00e9"], "": {}}

pytestmark = pytest.mark.django_db


@pytest.fixture
def completion():
    return CompletionFactory(prompt=PROMPT, metadata=METADATA)


def stored(row, column):
    """The bytes of a column, read without the model."""
    with connection.cursor() as cursor:
        table, pk = row._meta.db_table, row._meta.pk.get_db_prep_value(row.pk, connection)
        cursor.execute(f"select {column} from {table} where id = %s", [pk])
        value = cursor.fetchone()[0]
    return None if value is None else bytes(value)


def test_the_attribute_reads_plain_and_the_column_holds_ciphertext(completion):
    row = Completion.objects.get()
    assert (row.prompt, row.metadata) == (PROMPT, METADATA)
    for column in ("prompt", "response", "metadata"):
        assert stored(completion, column)[:1] == b"\x01"
    assert b"2 + 2" not in stored(completion, "prompt")
    assert b'"z"' not in stored(completion, "metadata")


def test_the_order_of_json_members_is_kept(completion):
    assert list(Completion.objects.get().metadata) == ["z", "a", ""]


def test_a_saved_change_is_read_again(completion):
    row = Completion.objects.get()
    row.prompt = "another"
    assert row.prompt == "another"
    row.save()
    assert Completion.objects.get().prompt == "another"
    row.response = "not among the saved"
    row.prompt = "a second time"
    row.save(update_fields=["prompt"])
    again = Completion.objects.get()
    assert (again.prompt, again.response) == ("a second time", completion.response)


def test_unread_fields_are_saved_unchanged(completion):
    before = stored(completion, "prompt")
    Completion.objects.get().save()
    assert stored(completion, "prompt") == before


def test_rows_created_in_bulk_are_encrypted_individually():
    task = TaskFactory()
    rows = CompletionFactory.build_batch(3, task=task, organization=task.organization, task_version=task.version)
    for number, row in enumerate(rows):
        row.created_by, row.prompt = task.created_by, f"prompt {number}"
    Completion.objects.bulk_create(rows)
    assert sorted(row.prompt for row in Completion.objects.all()) == ["prompt 0", "prompt 1", "prompt 2"]
    assert b"prompt" not in b"".join(stored(row, "prompt") for row in rows)


def test_refreshing_reads_what_is_stored_now(completion):
    row = Completion.objects.get()
    assert row.prompt == PROMPT
    completion.prompt = "changed by a rival"
    completion.save()
    row.refresh_from_db()
    assert row.prompt == "changed by a rival"
    completion.prompt = "changed again"
    completion.save()
    row.refresh_from_db(fields=["prompt"])
    assert row.prompt == "changed again"


@pytest.mark.parametrize("choose", [lambda rows: rows.defer("prompt"), lambda rows: rows.only("model_id")])
def test_a_deferred_text_is_fetched_when_it_is_read(completion, choose, django_assert_num_queries):
    row = choose(Completion.objects.all()).get()
    assert "prompt" in row.get_deferred_fields()
    assert row.prompt == PROMPT
    with django_assert_num_queries(0):
        assert row.prompt == PROMPT


def test_only_the_text_can_be_fetched(completion):
    assert Completion.objects.only("prompt").get().prompt == PROMPT


def test_values_give_the_envelope(completion):
    (value,) = Completion.objects.values_list("prompt", flat=True)
    assert isinstance(value, Ciphertext)
    assert encrypted(Completion, "prompt").decrypt(completion.pk, value) == PROMPT


def test_a_text_moved_to_another_row_or_column_cannot_be_read(completion):
    other = CompletionFactory(prompt="mine")
    Completion.objects.filter(pk=other.pk).update(prompt=Ciphertext(stored(completion, "prompt")))
    with pytest.raises(Undecryptable):
        _ = Completion.objects.get(pk=other.pk).prompt
    Completion.objects.filter(pk=completion.pk).update(response=Ciphertext(stored(completion, "prompt")))
    with pytest.raises(Undecryptable):
        _ = Completion.objects.get(pk=completion.pk).response


def test_none_is_null():
    completion = CompletionFactory(prompt=None, metadata=None)
    row = Completion.objects.get()
    assert (row.prompt, row.metadata) == (None, None)
    assert stored(completion, "prompt") is None
    assert Completion.objects.filter(prompt__isnull=True).exists()
    assert not Completion.objects.filter(prompt__isnull=False).exists()


def test_a_text_is_removed_by_setting_null(completion):
    Completion.objects.update(prompt=None)
    assert Completion.objects.get().prompt is None


@pytest.mark.parametrize("value", ["", {}, [], 0, False])
def test_an_empty_value_is_not_null(value):
    completion = CompletionFactory(prompt="", metadata=value if value != "" else {})
    row = Completion.objects.get()
    assert row.prompt == ""
    assert row.metadata == (value if value != "" else {})
    assert stored(completion, "metadata") is not None


REFUSED = {
    "update": lambda: Completion.objects.update(prompt="plain"),
    "update of JSON": lambda: Completion.objects.update(metadata={"plain": 1}),
    "update with bytes": lambda: Completion.objects.update(prompt=b"plain"),
    "filter": lambda: list(Completion.objects.filter(prompt="plain")),
    "filter by a part": lambda: list(Completion.objects.filter(prompt__icontains="plain")),
    "filter by a member": lambda: list(Completion.objects.filter(metadata__a=1)),
    "filter from afar": lambda: list(GraderSecret.objects.filter(grader__secrets__secret="plain")),
    "exclude": lambda: list(Completion.objects.exclude(prompt__in=["plain"])),
    "null by equality": lambda: list(Completion.objects.filter(prompt=None)),
}


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED.keys())
def test_an_expression_without_its_row_is_refused(completion, use):
    with pytest.raises(TypeError, match="encrypted"), transaction.atomic():
        use()
    assert Completion.objects.get().prompt == PROMPT


def test_bulk_update_is_refused(completion):
    completion.prompt = "plain"
    with pytest.raises(TypeError, match="encrypted"):
        Completion.objects.bulk_update([completion], ["prompt"])


def test_a_serializer_does_not_get_the_plain_text(completion):
    with pytest.raises(TypeError, match="not serialized"):
        encrypted(Completion, "prompt").value_to_string(completion)


def test_json_that_is_not_finite_is_not_stored():
    with pytest.raises(ValueError, match="JSON"):
        CompletionFactory(metadata={"x": float("nan")})


def test_a_secret_is_encrypted_too():
    grader = GraderFactory(secret="atgs_of_this_grader")
    secret = GraderSecret.objects.get(grader=grader)
    assert secret.secret == "atgs_of_this_grader"
    assert b"atgs" not in stored(secret, "secret")


def test_only_encrypted_fields_can_be_looked_up_by_name():
    with pytest.raises(TypeError, match=r"Completion\.model_id is not encrypted"):
        encrypted(Completion, "model_id")
    assert isinstance(encrypted(Completion, "prompt"), EncryptedField)
