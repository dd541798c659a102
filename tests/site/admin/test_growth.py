"""A list asks as many questions of the database with 3 rows as with 30, and a form few."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.models import AuditEvent
from tests.site.admin.world import MODELS, address, populate

MOST = 20


def queries_of(client, path):
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200, path
    return [query["sql"] for query in queries]


def test_30_rows_take_no_more_queries_than_3(boss, keys_at_hand):
    populate(3)
    keys_at_hand()
    boss.get(address(AuditEvent, "changelist"))  # the first event of the chain makes its key
    few = {model: queries_of(boss, address(model, "changelist")) for model in MODELS}
    populate(27, first=3)
    keys_at_hand()
    many = {model: queries_of(boss, address(model, "changelist")) for model in MODELS}
    grown = {
        model._meta.label: (len(few[model]), len(many[model])) for model in MODELS if len(many[model]) > len(few[model])
    }
    assert grown == {}


def test_a_form_takes_at_most_20_queries(boss, keys_at_hand):
    populate(25)
    keys_at_hand()
    boss.get(address(AuditEvent, "changelist"))
    counts = {}
    for model in MODELS:
        row = model._base_manager.order_by("pk").last()
        counts[model._meta.label] = len(queries_of(boss, address(model, "change", row.pk)))
    assert {label: count for label, count in counts.items() if count > MOST} == {}
