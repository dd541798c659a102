"""Rows inserted in bulk are those that the ORM would have inserted, on either engine."""

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import IntegrityError, connection, models, transaction
from django.test.utils import isolate_apps

from autotune.access.models import Organization
from autotune.core import bulk, ids
from autotune.core.crypto.encryption import cipher_for
from autotune.core.crypto.fields import encrypted
from tasks.models import Completion
from tests.factories import CompletionFactory, OrganizationFactory, TaskFactory

AT = datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=timezone(timedelta(hours=-5)))
TEXTS = ["", "plain", "a\tb\nc\\N\\.", "'; drop table x; --", "%s", "\u202e\U0001f600e\u0301", "x" * 100_000]


@pytest.fixture
def every_kind(db):
    """A table with a column of each type that the hot path writes."""
    with isolate_apps("autotune.core", "autotune.access"):

        class Sample(models.Model):
            id = models.UUIDField(primary_key=True)
            label = models.CharField(max_length=200_000)
            text = models.TextField(null=True)
            data = models.BinaryField(null=True)
            at = models.DateTimeField(null=True)
            small = models.SmallIntegerField(null=True)
            positive_small = models.PositiveSmallIntegerField(null=True)
            number = models.IntegerField(null=True)
            positive = models.PositiveIntegerField(null=True)
            big = models.BigIntegerField(null=True)
            real = models.FloatField(null=True)
            flag = models.BooleanField(null=True)
            group = models.UUIDField(null=True)

            class Meta:
                app_label = "core"
                db_table = "core_sample_of_every_kind"

        with connection.cursor() as cursor:  # by itself: SQLite's editor does not work within a test's transaction
            cursor.execute(connection.SchemaEditorClass(connection).table_sql(Sample)[0], None)
        return Sample


ROWS = [
    (uuid.UUID(int=0), "", None, None, None, None, None, None, None, None, None, None, None),
    *((ids.new(), text, text, text.encode(), AT, 1, 1, 1, 1, 1, 0.1, True, ids.new()) for text in TEXTS),
    (ids.new(), "low", "", b"", datetime(1, 1, 2, tzinfo=UTC), -(2**15), 0, -(2**31), 0, -(2**63), -1e308, False, None),
    (ids.new(), "high", "", bytes(range(256)), AT, 2**15 - 1, 2**15 - 1, 2**31 - 1, 2**31 - 1, 2**63 - 1, 5e-324, True, None),
]  # fmt: skip


def test_every_type_of_column_is_stored_as_the_orm_stores_it(every_kind):
    names = [field.attname for field in every_kind._meta.concrete_fields]
    every_kind.objects.bulk_create(every_kind(**dict(zip(names, row, strict=True))) for row in ROWS)
    by_orm = raw(every_kind)
    every_kind.objects.all().delete()
    bulk.insert(every_kind, names, ROWS)
    assert raw(every_kind) == by_orm
    assert len(by_orm) == len(ROWS)


def raw(model):
    with connection.cursor() as cursor:
        cursor.execute(f"select * from {model._meta.db_table} order by id")
        return [[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in cursor.fetchall()]


def test_columns_may_be_named_in_any_order(every_kind):
    bulk.insert(every_kind, ["text", "label", "id"], [("t", "l", uuid.UUID(int=7))])
    assert every_kind.objects.values_list("id", "label", "text").get() == (uuid.UUID(int=7), "l", "t")


def test_rows_may_come_from_a_generator_and_be_none(every_kind):
    bulk.insert(every_kind, ["id", "label"], ((ids.new(), str(n)) for n in range(2500)))
    assert every_kind.objects.count() == 2500
    bulk.insert(every_kind, ["id", "label"], iter(()))
    assert every_kind.objects.count() == 2500


@pytest.mark.django_db
def test_a_row_with_foreign_keys_and_ciphertext_reads_as_one_of_the_orm():
    like = CompletionFactory()
    names = [field.attname for field in Completion._meta.concrete_fields]
    pk = ids.new()
    prompt = encrypted(Completion, "prompt").envelope(cipher_for(like.organization_id), pk, "in bulk")
    values = {**Completion.objects.values(*names).get(), "id": pk, "prompt": prompt, "response": None}
    values |= {"metadata": None, "messages": None}
    bulk.insert(Completion, names, [[values[name] for name in names]])
    completion = Completion.objects.get(pk=pk)
    assert (completion.prompt, completion.response, completion.task_id) == ("in bulk", None, like.task_id)
    assert completion.created_at == Completion.objects.get(pk=like.pk).created_at


@pytest.mark.django_db
def test_a_constraint_violation_raises_the_error_of_django_and_inserts_nothing():
    organization = OrganizationFactory()
    rows = [(ids.new(), "fresh", False, False, AT), (ids.new(), organization.name, False, False, AT)]
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert(Organization, ["id", "name", "operating", "suspended", "created_at"], rows)
    assert Organization.objects.get() == organization


@pytest.mark.django_db
def test_a_null_in_a_required_column_raises_the_error_of_django():
    task = TaskFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert(Completion, ["id", "task_id"], [(ids.new(), task.pk)])
    assert not Completion.objects.exists()


@pytest.mark.django_db
def test_an_error_of_the_generator_inserts_nothing_and_leaves_the_connection_in_order():
    def rows():
        yield ids.new(), "first", False, False, AT
        raise LookupError("half way")

    with pytest.raises(LookupError, match="half way"), transaction.atomic():
        bulk.insert(Organization, ["id", "name", "operating", "suspended", "created_at"], rows())
    assert not Organization.objects.exists()


@pytest.mark.django_db
def test_a_name_that_is_no_column_is_refused():
    with pytest.raises(FieldDoesNotExist, match="nonsense"):
        bulk.insert(Organization, ["id", "nonsense"], [])
