"""With a wrong master key, start, checks, /ready and commands name the key, and nothing is written under it."""

import os
import secrets
import subprocess
import sys
import threading
from concurrent.futures import Future

import pytest
from django.core import checks
from django.core.management import CommandError, call_command
from django.db import OperationalError, transaction
from django.test import Client

from autotune.core import ids
from autotune.core.crypto import damage, encryption, keychecks, keyproviders, repairs, rotation, starting
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable, place
from autotune.core.models import DataKey, MasterKey
from tests.core.test_settings import LONG, ROOT
from tests.support.damaging import flipped

OURS, THEIRS = "k1:" + "1a" * 32, "k1:" + "2b" * 32
SECOND, OTHER_ID = "k2:" + "3c" * 32, "k9:" + "4d" * 32
AT = place("tasks_completion", "prompt")


@pytest.fixture
def masters(settings):
    """`masters(entry, …)`: a restart with these master keys."""

    def restart(*entries):
        settings.AUTOTUNE_ENCRYPTION_KEYS = ",".join(entries)
        settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = None
        encryption.keyring.clear()

    restart(OURS)
    return restart


@pytest.fixture
def written(db, masters):
    """An encrypted text of an organization under OURS: (its scope, its row, its envelope)."""
    scope, row = ids.new(), ids.new()
    return scope, row, encryption.cipher_for(scope).encrypt(AT, row, b"text")


def system_check():
    return [f"{message.id} {message.msg}" for message in checks.run_checks() if message.id == "autotune.E001"]


@pytest.mark.parametrize(("keys", "key_id"), [([THEIRS], "'k1'"), ([OTHER_ID], "'k1'"), ([THEIRS, SECOND], "'k1'")])
def test_c32_check_and_ready_fail_and_name_the_key(written, masters, keys, key_id):
    assert system_check() == []
    assert Client().get("/api/v1/ready").status_code == 200
    masters(*keys)
    assert key_id in system_check()[0]
    answer = Client().get("/api/v1/ready")
    failed = {check["name"]: check["detail"] for check in answer.json()["checks"] if check["status"] == "failed"}
    assert (answer.status_code, list(failed)) == (503, ["encryption"])
    assert key_id in failed["encryption"]


@pytest.mark.parametrize("keys", [[THEIRS], [OTHER_ID]])
@pytest.mark.parametrize("options", [(), ("--check",)], ids=["rotates", "checks"])
def test_c38_rotate_keys_fails_and_changes_nothing(written, masters, keys, options, capsys):
    before = list(DataKey.objects.values_list("pk", "wrapping_key", "wrapped"))
    masters(*keys)
    with pytest.raises(CommandError, match=r"'k1'.*\n?.*1 by k1"):
        call_command("rotate_keys", *options)
    assert list(DataKey.objects.values_list("pk", "wrapping_key", "wrapped")) == before
    assert "may be removed" not in capsys.readouterr().out


def test_c38_nothing_is_written_under_a_key_that_does_not_open_the_newest_data_key(written, masters):
    scope, _, _ = written
    masters(THEIRS)
    for period in ("2031-01", encryption.DIGEST_PERIOD):
        with pytest.raises(MasterKeyMissing, match="'k1' is not the one"):
            encryption.cipher_of(ids.new(), period) if period != "digest" else encryption.digest_key(ids.new())
    with pytest.raises(MasterKeyMissing):
        encryption.cipher_of(scope, "2031-01")  # a new month of an existing organization
    assert DataKey.objects.count() == 1


def test_c38_a_second_host_with_another_key_cannot_write(db, masters):
    """The database is empty: there is no data key to compare with, until the first host has written."""
    assert keychecks.refusal() == ""
    encryption.cipher_for(ids.new())
    masters(THEIRS)
    with pytest.raises(MasterKeyMissing):
        encryption.cipher_for(ids.new())
    DataKey.objects.all().delete()  # and when only the check value is left
    with pytest.raises(MasterKeyMissing):
        encryption.cipher_for(ids.new())
    masters(OURS)
    encryption.cipher_for(ids.new())


def test_a_check_value_that_was_rolled_back_has_no_effect(db, masters):
    with transaction.atomic():
        encryption.cipher_for(ids.new())
        transaction.set_rollback(True)
    masters(THEIRS)
    encryption.cipher_for(ids.new())
    assert keychecks.refusal() == ""


def test_a_database_of_an_earlier_release_has_no_check_value_and_is_checked_by_its_data_keys(written, masters):
    MasterKey.objects.all().delete()
    assert keychecks.refusal() == ""
    masters(THEIRS)
    assert "'k1'" in keychecks.refusal()
    masters(OURS)
    encryption.cipher_for(ids.new())
    assert MasterKey.objects.get().pk == "k1"


def test_a_damaged_check_value_stops_nothing(written, masters):
    row = MasterKey.objects.get()
    MasterKey.objects.filter(pk=row.pk).update(check_value=flipped(row.check_value))
    keychecks.forget()
    assert keychecks.refusal() == ""
    masters(THEIRS)
    assert "'k1'" in keychecks.refusal()


def test_c38_a_damaged_data_key_affects_only_its_month_and_organization(written, masters):
    scope, row, envelope = written
    other = encryption.cipher_for(ids.new()).encrypt(AT, row, b"another")
    key = DataKey.objects.get(scope=scope)
    DataKey.objects.filter(pk=key.pk).update(wrapped=flipped(key.wrapped))
    encryption.keyring.clear()
    assert keychecks.refusal() == ""
    with pytest.raises(Undecryptable, match="data key is damaged") as caught:
        encryption.decrypt(AT, row, envelope)
    assert not isinstance(caught.value, MasterKeyMissing)
    assert encryption.decrypt(AT, row, other) == b"another"
    fresh = encryption.cipher_for(scope)  # a further key of the month encrypts new values
    assert encryption.decrypt(AT, row, fresh.encrypt(AT, row, b"new")) == b"new"
    assert DataKey.objects.get(pk=fresh.key_id).period == f"{key.period}b"
    assert encryption.cipher_for(scope).key_id == fresh.key_id
    with pytest.raises(CommandError, match=f"{key.pk} of {scope} for {key.period} is damaged"):
        call_command("rotate_keys", "--check")


def test_the_record_of_a_damaged_data_key_is_deleted_when_the_key_is_repaired(written):
    scope, _, _ = written
    key = DataKey.objects.get(scope=scope)
    DataKey.objects.filter(pk=key.pk).update(wrapped=flipped(key.wrapped))
    encryption.keyring.clear()
    encryption.cipher_for(scope)

    assert damage.counts() == {("core_datakey", "wrapped"): 1}
    assert repairs.delete_repaired() == 0
    DataKey.objects.filter(pk=key.pk).update(wrapped=key.wrapped)
    assert repairs.delete_repaired() == 1
    assert damage.counts() == {}


def test_a_rotation_with_two_ids_passes_and_the_old_key_may_be_removed_after_it(written, masters):
    masters(SECOND, OURS)
    assert (keychecks.refusal(), rotation.rewrap().rewrapped) == ("", 1)
    masters(SECOND)
    assert keychecks.refusal() == ""
    masters("k2:" + "5e" * 32)
    assert "'k2'" in keychecks.refusal()
    with pytest.raises(MasterKeyMissing, match="'k2'"):
        rotation.rewrap()


class Service:
    """A small key service, whose keys stay inside."""

    def __init__(self, text=SECOND):
        self.inside = keyproviders.LocalKeys(text)

    def current(self):
        return "k2"

    def wrap(self, key_id, data_key, context):
        return b"service" + self.inside.wrap(key_id, data_key, context)

    def unwrap(self, key_id, wrapped, context):
        if not wrapped.startswith(b"service"):
            raise keyproviders.RefusedKey(key_id)
        return self.inside.unwrap(key_id, wrapped[7:], context)


def another_service():
    return Service("k2:" + "5e" * 32)


def test_c38_a_key_provider_is_checked_in_the_same_way(db, settings):
    settings.AUTOTUNE_KEY_PROVIDER = f"{__name__}.Service"
    encryption.keyring.clear()
    encryption.cipher_for(ids.new())
    assert keychecks.refusal() == ""
    settings.AUTOTUNE_KEY_PROVIDER = f"{__name__}.another_service"
    keychecks.forget()
    assert "'k2'" in keychecks.refusal()
    with pytest.raises(MasterKeyMissing):
        encryption.cipher_for(ids.new())


def test_c32_with_the_database_away_a_process_starts_and_checks_when_it_is_back(monkeypatch, caplog):
    answers = iter([OperationalError("away"), OperationalError("away"), "the master key 'k1' is not the one"])

    def refusal():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    exit_statuses = []
    monkeypatch.setattr(keychecks, "refusal", refusal)
    monkeypatch.setattr(starting, "CHECK_EVERY_S", 0.0)
    monkeypatch.setattr(starting.os, "_exit", exit_statuses.append)
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.run)
    monkeypatch.setattr(starting, "ThreadPoolExecutor", InlineExecutor)
    starting.require_master_keys("worker")
    assert exit_statuses == [starting.EXIT_STATUS]
    assert "worker starts without its database" in caplog.text
    assert "worker does not start: the master key 'k1'" in caplog.text


class InlineExecutor:
    """Runs the work in the caller's thread."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work):
        future = Future()
        future.set_result(work())
        return future


PROCESSES = {
    "web": ["-m", "gunicorn", "autotune.wsgi:application", "--bind", "127.0.0.1:0", "--workers", "1"],
    "beat": ["-m", "celery", "--app", "autotune", "beat", "--pidfile="],
    "worker": ["-m", "celery", "--app", "autotune", "worker", "--pool", "threads", "--concurrency", "1"],
    "live": ["-m", "uvicorn", "autotune.site.servers.live:application", "--port", "0"],
}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The environment of an embedded database that was written under OURS."""
    env = {
        "PATH": os.environ["PATH"], "AUTOTUNE_DATA_DIR": str(tmp_path_factory.mktemp("keys")), "SECRET_KEY": LONG,
        "AUTOTUNE_ENCRYPTION_KEYS": "k1:" + secrets.token_hex(32), "ALLOWED_HOSTS": "localhost",
    }  # fmt: skip
    for command in (["migrate", "-v0"], ["bootstrap", "--organization", "o", "--admin-email", "a@example.org"]):
        assert run(env, "manage.py", *command).returncode == 0
    return env


def run(env, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=90, check=False
    )


@pytest.mark.parametrize("process", sorted(PROCESSES))
def test_c38_web_worker_beat_and_live_refuse_to_start(database, process):
    completed = run(database | {"AUTOTUNE_ENCRYPTION_KEYS": "k1:" + secrets.token_hex(32)}, *PROCESSES[process])
    assert completed.returncode == starting.EXIT_STATUS, completed.stderr[-2000:]
    assert f"{process} does not start: the master key 'k1' is not the one" in completed.stderr + completed.stdout


@pytest.mark.parametrize("options", [(), ("--deploy",)], ids=["check", "check --deploy"])
def test_c38_manage_check_fails_with_the_keys_id(database, options):
    wrong = database | {"AUTOTUNE_ENCRYPTION_KEYS": "k1:" + secrets.token_hex(32)}
    assert run(database, "manage.py", "check", *options).returncode == 0
    completed = run(wrong, "manage.py", "check", *options)
    assert completed.returncode == 1
    assert "'k1' is not the one" in completed.stderr
