"""Sealing numbers events in their chain; verifying names what was altered, removed or inserted since."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from autotune.access.audit import macs, sealing, sealing_thread, trail, verification
from autotune.access.models import AuditChain, AuditEvent
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids
from tests.factories import OrganizationFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def organization():
    return OrganizationFactory()


def write(count, organization=None, **more):
    return [
        trail.record(action="keys.create", resource="keys", organization=organization, actor="a test", **more)
        for _ in range(count)
    ]


def verified(*arguments):
    """What the command prints, and whether it is content."""
    from io import StringIO

    out = StringIO()
    try:
        call_command("audit", "verify", *arguments, stdout=out)
    except CommandError:
        return out.getvalue().splitlines(), False
    return out.getvalue().splitlines(), True


def altered(pk, **changes):
    AuditEvent.objects.filter(pk=pk).update(**changes)


def test_each_chain_is_numbered_from_one_in_the_order_of_sealing(organization):
    write(3, organization)
    write(2)
    assert sealing.seal().count == 5
    write(1, organization)
    assert sealing.seal().count == 1
    for chain, numbers in ((organization.pk, [1, 2, 3, 4]), (INSTALLATION, [1, 2])):
        rows = AuditEvent.objects.filter(chain=chain).order_by("number")
        assert [row.number for row in rows] == numbers
        head = AuditChain.objects.get(chain=chain)
        assert (head.number, bytes(head.digest)) == (numbers[-1], bytes(rows.last().digest))
    assert verified() == (["The audit log is intact."], True)


def test_batches_are_bounded_and_a_pass_ends_with_the_last(organization, monkeypatch):
    monkeypatch.setattr(sealing, "BATCH", 2)
    monkeypatch.setattr(verification, "RANGE", 2)
    write(5, organization)
    assert sealing.seal().count == 5
    assert verified()[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"actor": "somebody else"}, {"outcome": "refused"}, {"fields": ["other"]}, {"status": 500},
        {"address": "203.0.113.9"}, {"object_id": "task_x"}, {"at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"mac": bytes(32)},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_an_altered_event_is_named(organization, changes):
    event = write(3, organization)[1]
    sealing.seal()
    altered(event.pk, **changes)
    lines, whole = verified()
    assert not whole
    (line,) = lines
    assert line.startswith(f"{ids.encode('org', organization.pk)}: altered: number 2, {event.public_id} ")


def test_events_removed_from_the_middle_and_from_the_end_are_named_by_their_numbers(organization):
    rows = write(6, organization)
    sealing.seal()
    AuditEvent.objects.filter(pk__in=[rows[1].pk, rows[2].pk, rows[5].pk]).delete()
    name = ids.encode("org", organization.pk)
    assert verified() == ([f"{name}: removed: numbers 2 to 3", f"{name}: removed: number 6"], False)
    assert verified("--organization", "installation")[1], "another chain is whole"


def test_an_event_that_was_put_in_by_hand_is_not_sealed_and_named(organization, caplog):
    write(1, organization)
    forged = AuditEvent(
        chain=organization.pk, organization=organization, actor="nobody", action="keys.create", resource="keys",
        outcome="succeeded", at=datetime.now(UTC), mac=bytes(32),
    )  # fmt: skip
    forged.save()
    sealed = sealing.seal()
    assert (sealed.count, list(sealed.refused)) == (1, [forged.public_id])
    assert forged.public_id in caplog.text
    lines, whole = verified()
    assert not whole
    assert forged.public_id in lines[0]
    assert ": inserted: " in lines[0]


def test_an_event_put_behind_the_end_with_a_number_is_named(organization):
    write(2, organization)
    sealing.seal()
    AuditEvent.objects.create(
        chain=organization.pk, actor="nobody", action="keys.create", resource="keys", outcome="succeeded",
        at=datetime.now(UTC), mac=bytes(32), number=3, digest=bytes(32),
    )  # fmt: skip
    (line,) = verified()[0]
    assert ": inserted: number 3, aud_" in line


def test_swapped_events_are_named(organization):
    first, second, _ = write(3, organization)
    sealing.seal()
    rows = {row.pk: (row.number, row.digest) for row in AuditEvent.objects.all()}
    altered(first.pk, number=99)
    altered(second.pk, number=rows[first.pk][0])
    altered(first.pk, number=rows[second.pk][0])
    lines, whole = verified()
    assert not whole
    assert [line.split(": ")[1] for line in lines][:2] == ["altered", "altered"]


def test_a_truncated_chain_is_detected_by_heads_stored_elsewhere(organization, tmp_path):
    rows = write(4, organization)
    sealing.seal()
    with (tmp_path / "heads.json").open("w") as file:
        call_command("audit", "heads", stdout=file)
    kept = json.loads((tmp_path / "heads.json").read_text())
    assert kept[ids.encode("org", organization.pk)]["number"] == 4
    AuditEvent.objects.filter(pk__in=[rows[2].pk, rows[3].pk]).delete()
    end = AuditEvent.objects.get(number=2)
    AuditChain.objects.update(number=2, digest=end.digest)
    assert verified()[1], "the database by itself shows no difference"
    lines, whole = verified("--heads", str(tmp_path / "heads.json"))
    assert (whole, lines) == (False, [f"{ids.encode('org', organization.pk)}: removed: numbers 3 to 4"])


def test_an_open_call_waits_and_one_that_never_ended_is_interrupted(organization):
    now = datetime.now(UTC)
    waiting, gone = write(2, organization, outcome="open")
    early = now - sealing.INTERRUPTED_AFTER - timedelta(seconds=1)
    gone.at = early
    altered(gone.pk, at=early, mac=macs.of_event(macs.key_of(gone.chain), gone))
    assert sealing.oldest_unsealed() is None
    assert sealing.seal().count == 1
    gone.refresh_from_db()
    waiting.refresh_from_db()
    assert (gone.outcome, gone.number, waiting.outcome, waiting.number) == ("interrupted", 1, "open", None)
    assert verified()[1]


def test_the_digest_of_a_request_is_no_mac_of_an_event(organization):
    from autotune.core.crypto import encryption

    assert macs.key_of(organization.pk) != encryption.digest_key(organization.pk)


def test_an_unknown_chain_name_is_reported(organization):
    with pytest.raises(CommandError, match="no such chain"):
        call_command("audit", "verify", "--organization", "org_x")


# --- what the database refuses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["altered", "deleted", "unsealed", "sealed_twice", "inserted_sealed", "rewound", "forgotten"]
)
def test_the_database_refuses(guarded, organization, what):
    event = write(1, organization)[0]
    sealing.seal()
    row, head = AuditEvent.objects.filter(pk=event.pk), AuditChain.objects.filter(chain=organization.pk)
    acts = {
        "altered": lambda: row.update(actor="somebody else"),
        "deleted": lambda: row._raw_delete(row.db),
        "unsealed": lambda: row.update(number=None, digest=None),
        "sealed_twice": lambda: row.update(number=9),
        "inserted_sealed": lambda: AuditEvent(
            chain=organization.pk, actor="x", action="x.y", resource="x", outcome="succeeded", at=datetime.now(UTC),
            mac=bytes(32), number=2, digest=bytes(32),
        ).save(force_insert=True),
        "rewound": lambda: head.update(number=0),
        "forgotten": lambda: head._raw_delete(head.db),
    }  # fmt: skip
    with pytest.raises(IntegrityError, match=r"append-only|only moves forward|unsealed"), transaction.atomic():
        acts[what]()


def test_the_database_allows_closing_a_call_only_once(guarded, organization):
    event = write(1, organization, outcome="open")[0]
    rows = AuditEvent.objects.filter(pk=event.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.update(outcome="succeeded", actor="somebody else")
    assert rows.update(outcome="succeeded", status=200, mac=bytes(32)) == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        rows.update(outcome="refused")


@pytest.mark.postgres
@pytest.mark.parametrize("table", ["access_auditevent", "access_auditchain"])
def test_the_database_refuses_to_empty_the_tables(guarded, table):
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"truncate {table}")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_sealers_at_the_same_time_make_one_chain_without_gaps(organization):
    write(300, organization)
    barrier = threading.Barrier(4)
    counts = []

    def run():
        barrier.wait()
        counts.append(sealing.seal().count)
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sealing.seal()
    numbers = AuditEvent.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(1, 301))
    assert verified()[1]


@pytest.mark.django_db(transaction=True)
def test_the_sealing_thread_of_a_worker_seals_events(organization, monkeypatch):
    monkeypatch.setattr(sealing_thread, "EVERY_S", 0.01)
    write(3, organization)
    running = sealing_thread.SealingThread()
    running.start()
    end = time.monotonic() + 20
    while AuditEvent.objects.filter(number=None).exists() and time.monotonic() < end:
        running.stopping.wait(0.02)
    running.stop()
    running.join()
    assert list(AuditEvent.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 3]


def test_late_sealing_is_logged(organization, caplog):
    write(1, organization)
    sealing.warn_of_late(datetime.now(UTC) + sealing.LATE)
    assert "is not sealed yet" in caplog.text
    caplog.clear()
    sealing.seal()
    sealing.warn_of_late(datetime.now(UTC) + timedelta(days=1))
    assert caplog.text == ""
