"""Downloads: complete, by range, unchanged, by a link; and the response when there is no file."""

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import AuditEvent, Membership
from autotune.core.logs import redacted
from exports.files.sealed import CHUNK
from exports.models import Export
from tests.conftest import Api
from tests.exports.jobs.conftest import content_of, download, files_in
from tests.factories import ScoreFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def export(api, scored, task, ask, run):
    """An export of several chunks."""
    scored(2)
    ScoreFactory(run__completion__task=task, run__completion__prompt="long " * CHUNK, value=0.1)
    return run(ask())


@pytest.fixture
def whole(api, export):
    return content_of(download(api, export))


def test_the_whole_file(api, export, whole):
    answer = download(api, export)
    assert answer.status_code == 200
    assert answer["Content-Length"] == str(len(whole))
    assert answer["ETag"] == f'"{hashlib.sha256(whole).hexdigest()}"'
    assert answer["Accept-Ranges"] == "bytes"
    assert answer["Content-Type"] == "application/x-ndjson"
    assert answer["Content-Disposition"] == f'attachment; filename="{export.public_id}-records.jsonl"'
    assert "Content-Encoding" not in answer


@pytest.mark.parametrize("bounds", [(0, 0), (5, 100), (CHUNK - 1, CHUNK), (CHUNK, 3 * CHUNK), (100, None)])
def test_a_range(api, export, whole, bounds):
    first, last = bounds
    answer = download(api, export, range=f"bytes={first}-{'' if last is None else last}")
    last = len(whole) - 1 if last is None else last
    assert answer.status_code == 206
    assert answer["Content-Range"] == f"bytes {first}-{last}/{len(whole)}"
    assert answer["Content-Length"] == str(last - first + 1)
    assert content_of(answer) == whole[first : last + 1]


@pytest.mark.usefixtures("small_parts")
def test_a_range_over_parts(api, scored, ask, run):
    scored(5)
    export = run(ask())
    text = content_of(download(api, export))
    tag = download(api, export)["ETag"]
    assert tag == f'"{export.sha256}"'
    for first, last in ((0, len(text) - 1), (3, 500), (450, len(text) - 2)):
        answer = download(api, export, range=f"bytes={first}-{last}", if_range=tag)
        assert answer.status_code == 206
        assert content_of(answer) == text[first : last + 1]


def test_a_range_past_the_end(api, export, whole):
    answer = download(api, export, range=f"bytes={len(whole)}-")
    assert (answer.status_code, answer.json()["code"]) == (416, "range_not_satisfiable")
    assert answer["Content-Range"] == f"bytes */{len(whole)}"


def test_a_range_of_another_file_version_returns_the_whole_file(api, export, whole):
    answer = download(api, export, range="bytes=5-9", if_range='"another"')
    assert answer.status_code == 200
    assert content_of(answer) == whole


def test_a_file_that_the_caller_has_is_not_sent_again(api, export):
    tag = download(api, export)["ETag"]
    answer = download(api, export, if_none_match=tag, range="bytes=0-4")
    assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", tag)


def test_head_reports_the_size_without_a_body(api, export, whole):
    answer = api.call("HEAD", f"/exports/{export.public_id}/download", range="bytes=0-4")
    assert (answer.status_code, answer["Content-Length"]) == (200, str(len(whole)))
    assert answer.content == b""


def test_a_missing_file(api, export):
    for name in ("part-00001.jsonl", "..", "../../etc/passwd", "records.jsonl%00", "a" * 101):
        answer = download(api, export, f"?file={name}")
        assert answer.status_code in (400, 404), name
        assert answer.json()["errors"][0]["pointer"] == "?file"


def test_before_its_end_and_after_it(api, export, ask):
    waiting = ask()
    answer = download(api, waiting)
    assert (answer.status_code, answer.json()["code"]) == (409, "export_unfinished")
    for status, expected, code in (
        ("expired", 410, "export_expired"),
        ("withdrawn", 410, "export_withdrawn"),
        ("failed", 409, "export_failed"),
        ("cancelled", 409, "export_cancelled"),
    ):
        Export.objects.filter(pk=waiting.pk).update(status=status)
        answer = download(api, waiting)
        assert (answer.status_code, answer.json()["code"]) == (expected, code)
    Export.objects.filter(pk=export.pk).update(expires_at=timezone.now())  # before the job that deletes it came by
    assert download(api, export).json()["code"] == "export_expired"


def test_a_damaged_file_is_an_error_before_the_first_byte(api, export, storage, caplog):
    largest = max(files_in(storage), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[100] ^= 1
    largest.write_bytes(bytes(content))
    answer = download(api, export)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert "cannot be read" in caplog.text
    largest.unlink()
    assert download(api, export).status_code == 503


def test_an_interrupted_download_does_not_look_complete(api, export, storage):
    largest = max(files_in(storage), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[-1] ^= 1
    largest.write_bytes(bytes(content))
    answer = download(api, export)
    assert answer.status_code == 200
    with pytest.raises(Exception, match="cannot be read"):
        b"".join(answer.streaming_content)


def test_a_client_that_leaves_closes_the_file(api, export, monkeypatch):
    closed = []
    from exports.files.folder import FolderStorage

    read_from = FolderStorage.read_from

    def watched(self, name, offset):
        file = read_from(self, name, offset)
        closed.append(file)
        return file

    monkeypatch.setattr(FolderStorage, "read_from", watched)
    answer = download(api, export)
    next(iter(answer.streaming_content))
    answer.close()
    assert [file.closed for file in closed] == [True]


# --- links ------------------------------------------------------------------------------------------------------------


def link(api, export, **body):
    answer = api.post(f"/exports/{export.public_id}/links", body)
    assert answer.status_code == 201, answer.content
    return answer.json()["url"], answer.json()


def follow(url, **headers):
    return Api().get(url.partition("/api/v1")[2], **headers)


def test_a_link_needs_no_key_and_supports_ranges(api, export, whole):
    url, _ = link(api, export)
    assert content_of(follow(url)) == whole
    part = follow(url, range="bytes=2-5")
    assert (part.status_code, content_of(part)) == (206, whole[2:6])
    url, _ = link(api, export, file="metadata.json")
    assert b"totalRecords" in content_of(follow(url))


def test_a_link_is_valid_until_its_expiry(api, export, monkeypatch):
    url, _ = link(api, export, expiresInS=60)
    assert content_of(follow(url))
    later = timezone.now() + timedelta(seconds=62)
    monkeypatch.setattr("exports.files.links.database_now", lambda: later)
    gone = follow(url)
    assert (gone.status_code, gone.json()["code"]) == (410, "link_expired")


def test_a_link_expires_no_later_than_its_file(api, export):
    until = timezone.now() + timedelta(seconds=100)
    Export.objects.filter(pk=export.pk).update(expires_at=until)
    _, answer = link(api, export, expiresInS=3600)
    assert answer["expiresAt"][:19] == until.isoformat()[:19]


@pytest.mark.parametrize("seconds", [0, 59, 604801, "60", 60.5])
def test_the_lifetime_of_a_link_is_bounded(api, export, seconds):
    assert api.post(f"/exports/{export.public_id}/links", {"expiresInS": seconds}).status_code == 400


def test_a_link_ends_with_the_rights_of_its_maker(api, export):
    url, _ = link(api, export)
    Membership.objects.filter(user=api.user).delete()
    gone = follow(url)
    assert (gone.status_code, gone.json()["code"]) == (403, "forbidden")


def test_a_link_ends_with_the_key_that_made_it(api, export):
    url, _ = link(api, export)
    api.api_key.revoked_at = timezone.now()
    api.api_key.save()
    assert follow(url).status_code == 403


def test_an_altered_link_is_refused(api, export):
    url, _ = link(api, export)
    head, _, tail = url.rpartition(".")
    flipped = "B" if head[-1] == "A" else "A"
    for bad in (
        head,
        f"{head[:-1]}{flipped}.{tail}",
        f"{head}.{tail[:-1]}",
        f"{url}x",
        url.rpartition("/")[0] + "/x.y",
    ):
        assert follow(bad).status_code == 404, bad


def test_a_link_to_a_missing_file_is_not_created(api, export, ask):
    answer = api.post(f"/exports/{export.public_id}/links", {"file": "none"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/file")
    assert api.post(f"/exports/{ask().public_id}/links").json()["code"] == "export_unfinished"


def test_the_audit_log_names_the_owner_of_a_link_and_never_its_token(api, export):
    url, _ = link(api, export)
    content_of(follow(url))
    event = AuditEvent.objects.order_by("at").last()
    assert (event.route, event.organization_id, event.object_id) == (
        "/api/v1/downloads/:token",
        api.organization.pk,
        export.public_id,
    )
    assert event.actor == api.user.email
    token = url.rpartition("/")[2]
    assert not any(token in str(vars(row)) for row in AuditEvent.objects.all())


def test_log_lines_show_no_token(api, export):
    url, _ = link(api, export)
    assert url.rpartition("/")[2] not in redacted(f'"GET {url} HTTP/1.1" 200')


def test_a_link_repeated_by_its_idempotency_key_shows_its_address_once(api, export):
    path = f"/exports/{export.public_id}/links"
    first = api.post(path, {}, idempotency_key="k").json()
    assert first["url"]
    assert api.post(path, {}, idempotency_key="k").json() == {**first, "url": None}
