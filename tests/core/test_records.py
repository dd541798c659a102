"""Rows of a hand-written statement become the same instances as a queryset's, on either engine."""

import pytest
from django.db import connection

from autotune.access.models import ApiKey, Role
from autotune.core.records import Record, instances
from tests.factories import ApiKeyFactory

pytestmark = pytest.mark.django_db


def read(records, rest, *parameters):
    columns = ", ".join(record.columns for record in records)
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} {rest}", parameters)
        return [list(instances(records, row)) for row in cursor.fetchall()]


def values(instance):
    return {field.attname: getattr(instance, field.attname) for field in instance._meta.concrete_fields}


def test_instance_has_the_values_and_types_of_a_queryset():
    key = ApiKeyFactory(networks=["10.0.0.0/8", "2001:db8::/32"])
    [[read_key]] = read([Record(ApiKey, "k")], "from access_apikey k")
    from_queryset = values(ApiKey.objects.get(pk=key.pk))
    assert {name: type(value) for name, value in values(read_key).items()} == {
        name: type(value) for name, value in from_queryset.items()
    }
    assert {**values(read_key), "digest": bytes(read_key.digest)} == {
        **from_queryset,
        "digest": bytes(from_queryset["digest"]),
    }


def test_instance_can_be_changed_and_saved():
    key = ApiKeyFactory()
    [[read_key]] = read([Record(ApiKey, "k")], "from access_apikey k")
    read_key.name = "Renamed"
    read_key.save()
    assert ApiKey.objects.get().pk == key.pk
    assert ApiKey.objects.get().name == "Renamed"


def test_outer_join_without_a_row_is_none():
    key = ApiKeyFactory()
    records = [Record(Role, "r"), Record(ApiKey, "k")]
    [[role, read_key]] = read(records, "from access_apikey k left join access_role r on r.id = k.id")
    assert role is None
    assert read_key.pk == key.pk


def test_no_rows_are_no_instances():
    assert read([Record(ApiKey, "k")], "from access_apikey k") == []
