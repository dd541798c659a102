"""The page of an export: how far it is, its files, its links, its end."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import AuditEvent
from exports.models import Export
from tests.factories import ExportFactory, public


@pytest.fixture
def path():
    return lambda export: f"/exports/{public('exp', export)}"


@pytest.fixture
def done(operator):
    return ExportFactory(
        organization=operator.organization, created_by=operator.user, rows=3, files={"preferences.jsonl": b'{"a": 1}\n'},
        query={"layout": "preferences", "minScoreDelta": 0.2},
    )  # fmt: skip


def test_a_running_export_shows_its_progress_and_refreshes(operator, see, path):
    export = ExportFactory(
        organization=operator.organization, created_by=operator.user, status="running", rows=250, expected=1000
    )
    seen = see(operator, path(export))
    assert 'data-live="5"' in seen.html
    assert re.search(r'<progress\s+class="meter"\s+max="100"\s+value="25.0"', seen.html)
    assert "25 % of about 1,000 rows" in seen


def test_a_completed_one_has_files_downloads_and_commands(operator, done, see, path):
    seen = see(operator, path(done))
    digest = done.files.get().sha256
    assert f'href="/api/v1{path(done)}/download?file=preferences.jsonl"' in seen.html
    for words in (
        digest, f"{digest}  preferences.jsonl", 'load_dataset("json", data_files="preferences.jsonl", split="train")',
        "DPOTrainer", "--data.chosen_key chosen", f'client.exports.download("{public("exp", done)}", "data")', "curl -sSf -C -",
        "minimum reward difference 0.2",
    ):  # fmt: skip
        assert words in seen.text or words in seen.html
    assert "data-live" not in seen.html


def test_the_page_downloads_the_same_file_as_the_api(operator, done, path):
    answer = operator.get(f"/api/v1{path(done)}/download?file=preferences.jsonl")
    assert b"".join(answer.streaming_content) == b'{"a": 1}\n'
    assert AuditEvent.objects.filter(object_id=public("exp", done), actor=operator.user.email).exists()


def test_a_link_is_shown_once_and_works_without_a_key(operator, done, see, path, client):
    answer = operator.post(f"{path(done)}/link", {"file": "preferences.jsonl", "expires_in_s": "3600"})
    (url,) = re.findall(r"/api/v1/downloads/[^<\s\"]+", answer.content.decode())
    assert b"".join(client.get(url).streaming_content) == b'{"a": 1}\n'
    assert url not in see(operator, path(done)).html


def test_a_link_to_an_unknown_file_is_refused(operator, done, path):
    answer = operator.post(f"{path(done)}/link", {"file": "nothing.jsonl", "expires_in_s": "3600"})
    assert answer.status_code == 400
    assert "/api/v1/downloads/" not in answer.content.decode()


def test_it_is_cancelled_from_its_page(operator, see, path):
    export = ExportFactory(organization=operator.organization, created_by=operator.user)
    assert operator.post(f"{path(export)}/cancel").url == path(export)
    assert Export.objects.get().status == "cancelled"
    assert "Somebody cancelled the export" in see(operator, path(export))


def test_a_finished_export_cannot_be_cancelled(operator, done, path):
    answer = operator.post(f"{path(done)}/cancel", follow=True)
    assert "can no longer be cancelled" in answer.content.decode()


@pytest.mark.parametrize(
    ("status", "fields", "words"),
    [
        ("pending", {}, "The export is queued"),
        (
            "failed",
            {"error_code": "out_of_range", "error_message": "more than 500 names"},
            "Choose one task or one grader",
        ),
        (
            "withdrawn",
            {"error_code": "withdrawn", "error_message": "Text in the export was erased."},
            "its files were deleted",
        ),
        ("expired", {}, "at the end of their storage period"),
    ],
)
def test_each_state_explains_itself(operator, see, path, status, fields, words):
    export = ExportFactory(organization=operator.organization, created_by=operator.user, status=status, **fields)
    seen = see(operator, path(export))
    assert words in seen
    assert "/download" not in seen.html


def test_an_expired_export_shows_no_files_even_before_they_are_deleted(operator, done, see, path):
    Export.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    seen = see(operator, path(done))
    assert "expired" in seen
    assert "/download" not in seen.html


def test_an_export_can_be_repeated_with_the_same_options(operator, done, see, path):
    assert "/exports/new?layout=preferences&amp;minScoreDelta=0.2" in see(operator, path(done)).html


def test_the_page_takes_few_queries(operator, done, path, django_assert_max_num_queries):
    with django_assert_max_num_queries(20):
        assert operator.get(path(done)).status_code == 200


def test_the_audit_log_records_links_and_cancellations(operator, done, path):
    operator.post(f"{path(done)}/link", {"file": "preferences.jsonl", "expires_in_s": "3600"})
    operator.post(f"{path(done)}/cancel")
    events = AuditEvent.objects.filter(method="POST").order_by("at", "pk")
    assert list(events.values_list("action", "object_id")) == [
        ("exports.read", public("exp", done)),
        ("exports.update", public("exp", done)),
    ]
