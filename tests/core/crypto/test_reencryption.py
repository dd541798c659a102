"""Data keys are retired, and everything under them is re-encrypted while others write."""

import json
from datetime import timedelta
from threading import Event

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from autotune.core import clock, ids
from autotune.core.crypto import encryption, reencryption, rotation
from autotune.core.crypto.fields import Ciphertext, encrypted
from autotune.core.models import DataKey, Reencryption
from graders.models import GraderCheck
from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, RunFactory
from tests.support.concurrency import together

NOW = timedelta(0)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("committed_keys_only")]


@pytest.fixture
def completions():
    first = CompletionFactory(prompt="prompt 0", metadata={"n": 0})
    return [first] + [CompletionFactory(task=first.task, prompt=f"prompt {n}", metadata={"n": n}) for n in (1, 2, 3, 4)]


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(reencryption, "WINDOW", 2)
    monkeypatch.setattr(reencryption, "AT_ONCE", 1)


def heads(model, name):
    """The data key of each value, by row."""
    values = model.objects.exclude(**{f"{name}__isnull": True}).values_list("pk", name)
    return {pk: bytes(stored[1:17]) for pk, stored in values}


def in_use():
    return {key.bytes for key in DataKey.objects.filter(retired_at=None).values_list("pk", flat=True)}


def finish():
    """Work until nothing is due."""
    total = 0
    while done := reencryption.work(share_s=30):
        total += done
    return total


def test_everything_moves_to_new_keys_and_the_old_ones_are_dropped(completions, small_steps):
    grader = GraderFactory()
    GraderCheck.objects.create(grader=grader, name="health", passed=False, detail="what the grader said")
    RunFactory(completion=completions[0], status="failed", error_message="too long to judge")
    before = set(DataKey.objects.exclude(period="digest").values_list("pk", flat=True))
    assert reencryption.start(settles_after=NOW) == len(before) > 0
    assert finish() >= 5 * 3 + 2
    assert not DataKey.objects.filter(pk__in=before).exists()
    encryption.keyring.clear()
    assert [row.prompt for row in Completion.objects.order_by("pk")] == [f"prompt {n}" for n in range(5)]
    assert [row.metadata for row in Completion.objects.order_by("pk")] == [{"n": n} for n in range(5)]
    assert GraderCheck.objects.get().detail == "what the grader said"
    assert WorkflowRun.objects.get().error_message == "too long to judge"
    for name in ("prompt", "response", "metadata"):
        assert set(heads(Completion, name).values()) <= in_use()


def test_a_new_key_is_of_the_same_organization_and_month(completions):
    before = {(row.scope, row.period) for row in DataKey.objects.exclude(period="digest")}
    reencryption.start(settles_after=NOW)
    finish()
    assert {(row.scope, row.period) for row in DataKey.objects.exclude(period="digest")} == before


def test_one_organization_or_month_can_be_chosen(completions):
    other = CompletionFactory(prompt="another's")
    key = heads(Completion, "prompt")[other.pk]
    assert reencryption.start(periods=["1999-01"], settles_after=NOW) == 0
    assert not Reencryption.objects.exists()
    assert reencryption.start(scope=completions[0].organization_id, settles_after=NOW) == 1
    assert finish() > 0
    assert heads(Completion, "prompt")[other.pk] == key
    assert key in in_use()


def test_digests_keep_their_key(completions):
    scope = completions[0].organization_id
    digest = encryption.content_digest(scope, b"content")
    reencryption.start(settles_after=NOW)
    finish()
    encryption.keyring.clear()
    assert encryption.content_digest(scope, b"content") == digest


def test_new_writes_use_the_new_key(completions):
    reencryption.start(settles_after=NOW)
    row = CompletionFactory(task=completions[0].task)
    assert heads(Completion, "prompt")[row.pk] in in_use()


def test_a_dead_worker_leaves_its_position(completions, small_steps):
    reencryption.start(settles_after=NOW)
    Reencryption.objects.exclude(column="tasks.Completion.prompt").update(finished_at=clock.database_now())
    claim = reencryption._claim(reencryption.columns())
    dying = reencryption._Pass(claim, encrypted(Completion, "prompt"), rotation.retired())
    dying._row.started_at, dying._row.total = clock.database_now(), 5
    assert dying._window() is False
    assert dying._keep()
    row = Reencryption.objects.get(pk=claim.pk)
    assert (row.done, row.rewritten, row.total) == (2, 2, 5)
    assert reencryption.work() == 0  # its lease still holds
    Reencryption.objects.update(leased_until=clock.database_now() - timedelta(seconds=1))
    assert reencryption.work() == 3
    assert not dying._keep()  # should it wake up again


def test_a_later_pass_finds_late_writes_under_a_retired_key(completions):
    stale = encryption.cipher_for(completions[0].organization_id)
    reencryption.start()
    assert finish() > 0
    assert DataKey.objects.exclude(retired_at=None).exists()  # nothing is dropped before all have settled
    late = completions[2]
    envelope = encrypted(Completion, "prompt").envelope(stale, late.pk, "written late")
    Completion.objects.filter(pk=late.pk).update(prompt=envelope)
    Reencryption.objects.update(settled_at=clock.database_now(), due_at=clock.database_now())
    assert finish() == 1
    assert not DataKey.objects.exclude(retired_at=None).exists()
    encryption.keyring.clear()
    assert Completion.objects.get(pk=late.pk).prompt == "written late"


def test_an_unreadable_value_keeps_its_key_and_does_not_stop_the_pass(completions, caplog):
    broken = Ciphertext(heads_of(completions[0]))
    Completion.objects.filter(pk=completions[1].pk).update(prompt=broken)
    reencryption.start(settles_after=NOW)
    finish()
    row = Reencryption.objects.get(pk="tasks.Completion.prompt")
    assert (row.unreadable, row.rewritten, row.finished_at is None) == (1, 4, False)
    assert DataKey.objects.exclude(retired_at=None).count() == 1
    assert str(completions[1].pk) in caplog.text
    assert reencryption.work() == 0
    Completion.objects.filter(pk=completions[1].pk).update(prompt=None)
    reencryption.start(settles_after=NOW)
    finish()
    assert not DataKey.objects.exclude(retired_at=None).exists()


def heads_of(row):
    return bytes(Completion.objects.values_list("prompt", flat=True).get(pk=row.pk))


def test_starting_during_a_pass_restarts_it(completions, small_steps):
    reencryption.start(settles_after=NOW)
    claim = reencryption._claim(reencryption.columns())
    old = reencryption._Pass(claim, reencryption.columns()[claim.column], rotation.retired())
    reencryption.start(settles_after=NOW)
    assert not old._keep()
    assert finish() > 0
    assert not DataKey.objects.exclude(retired_at=None).exists()
    assert [row.prompt for row in Completion.objects.order_by("pk")] == [f"prompt {n}" for n in range(5)]


def test_a_column_added_by_an_upgrade_is_included(completions):
    reencryption.start(settles_after=NOW)
    Reencryption.objects.filter(pk="tasks.Completion.prompt").delete()
    finish()
    assert DataKey.objects.exclude(retired_at=None).exists()
    Reencryption.objects.update(settled_at=clock.database_now(), due_at=clock.database_now())
    finish()
    assert not DataKey.objects.exclude(retired_at=None).exists()
    assert set(heads(Completion, "prompt").values()) <= in_use()


def test_without_retired_keys_no_table_is_read(completions, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert reencryption.work() == 0


def test_a_change_between_reading_and_writing_is_not_overwritten(completions, monkeypatch):
    row = completions[0]
    cipher_of = encryption.cipher_of
    reencryption.start(settles_after=NOW)

    def rival(*about):
        Completion.objects.filter(pk=row.pk).update(
            prompt=encrypted(Completion, "prompt").envelope(cipher_of(*about), row.pk, "the rival's")
        )
        return cipher_of(*about)

    Reencryption.objects.exclude(pk="tasks.Completion.prompt").delete()
    claim = reencryption._claim(reencryption.columns())
    work = reencryption._Pass(claim, encrypted(Completion, "prompt"), rotation.retired())
    monkeypatch.setattr(encryption, "cipher_of", rival)
    work._rewrite([row.pk])
    assert work._row.rewritten == 0
    assert Completion.objects.get(pk=row.pk).prompt == "the rival's"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_writers_lose_nothing_while_it_runs(small_steps):
    first = CompletionFactory(prompt="0")
    rows = [first] + [CompletionFactory(task=first.task, prompt="0") for _ in range(29)]
    over = Event()

    def write():
        turn = 0
        while not over.is_set():
            turn += 1
            for row in rows[::3]:
                completion = Completion.objects.get(pk=row.pk)
                completion.prompt = str(turn)
                completion.save(update_fields=["prompt"])
        return turn

    def work():
        try:
            for _ in range(3):
                reencryption.start(settles_after=NOW)
                finish()
        finally:
            over.set()
            connections.close_all()
        return None

    turn, *_ = together(write, work, work)
    encryption.keyring.clear()
    prompts = [row.prompt for row in Completion.objects.order_by("pk")]
    assert prompts == [str(turn) if n % 3 == 0 else "0" for n in range(30)]


@pytest.mark.parametrize("options", [["--settle-minutes=0"], ["--settle-minutes=-1", "--nothing-serves"]])
def test_no_key_is_dropped_while_processes_still_write_with_it(completions, options):
    with pytest.raises(CommandError, match="--settle-minutes"):
        call_command("reencrypt", "--start", *options)
    assert not DataKey.objects.exclude(retired_at=None).exists()


def test_the_command_starts_a_pass_and_shows_its_progress(completions, capsys):
    call_command("reencrypt")
    assert "there is nothing to re-encrypt" in capsys.readouterr().out
    call_command("reencrypt", "--start", "--settle-minutes=0", "--nothing-serves", "--now", "--json")
    shown = json.loads(capsys.readouterr().out)
    prompts = next(column for column in shown["columns"] if column["column"] == "tasks.Completion.prompt")
    assert (prompts["done"], prompts["total"], prompts["rewritten"], shown["retiredKeys"]) == (5, 5, 5, 0)
    call_command("reencrypt", "--start")
    assert "pass 1 from" in capsys.readouterr().out


def test_a_ciphertext_decrypts_only_in_its_own_column_and_row():
    scope, mine, other = ids.new(), ids.new(), ids.new()
    cipher = encryption.cipher_for(scope)
    fields = reencryption.columns()
    assert len({field.place for field in fields.values()}) == len(fields) > 15
    for name, field in fields.items():
        stored = field.envelope(cipher, mine, "text")
        assert field.decrypt(mine, stored) == "text", name
        for elsewhere, row in [
            (field, other),
            *((foreign, mine) for foreign in fields.values() if foreign is not field),
        ]:
            with pytest.raises(encryption.Undecryptable):
                elsewhere.decrypt(row, stored)


def test_columns_of_every_app_are_included():
    assert {"scores.WorkflowRun.error_message", "graders.GraderCheck.detail", "webhooks.Delivery.log"} <= set(
        reencryption.columns()
    )
