"""Running: leases, workers that die, cancelling, failures, rights at the time it runs."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from autotune.access.models import Membership, Role
from autotune.core import ids
from exports.files import storing
from exports.models import Export, ExportFile
from exports.work import claims, ending, finishing, parts, running
from scores.retention import deleting, erasing, purging
from tasks.models import Completion
from tests.exports.jobs.conftest import claim, download, files_in, octets, rows
from tests.factories import OrganizationFactory, TaskFactory, public
from tests.support.damaging import damage_rows

pytestmark = pytest.mark.django_db


class Died(BaseException):
    """A process that ends where it stands: nothing of ours catches it."""


def dies_in(monkeypatch, place, name, *, times=1, after=0):
    """`place.name` ends the worker for `times` calls, after that many went well."""
    real, calls = getattr(place, name), []

    def call(*args, **more):
        calls.append(1)
        if after < len(calls) <= after + times:
            raise Died
        return real(*args, **more)

    monkeypatch.setattr(place, name, call)


def lease_runs_out(export):
    Export.objects.filter(pk=export.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


def content_ids(api, export):
    return [row["metadata"]["completion_id"] for row in rows(octets(download(api, export)))]


def test_a_claim_is_one_workers_alone(ask):
    export = ask()
    first = claims.take()
    assert first == export
    assert claims.take() is None
    lease_runs_out(export)
    second = claims.take()
    assert (second.attempt, second.failures) == (first.attempt + 1, 1)
    assert claims.renew(second)
    assert not claims.renew(first)
    with pytest.raises(claims.LeaseLost):
        claims.locked(first)


def test_no_organization_takes_all_turns(ask, api_for, settings):
    settings.EXPORTS_RUNNING = 2
    mine = [ask() for _ in range(4)]
    other = ask(by=api_for(role="training_operator"))
    assert [claims.take() for _ in range(4)] == [mine[0], mine[1], other, None]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("place", "name", "after"),
    [(parts, "commit", 0), (parts, "commit", 1), (storing, "store", 1), (storing, "store", 3), (parts, "make", 2)],
)
def test_a_worker_that_dies_loses_its_part_at_most(api, scored, ask, run, storage, monkeypatch, place, name, after):
    made = scored(5)
    export = ask()
    with monkeypatch.context() as patch:
        dies_in(patch, place, name, after=after)
        with pytest.raises(Died):
            run()
    assert running._run_lock.acquire(blocking=False)
    running._run_lock.release()
    export.refresh_from_db()
    done = export.rows
    assert export.status == "running"
    run()
    export.refresh_from_db()
    assert export.status == "running"  # the lease holds
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows, export.attempt) == ("completed", 5, 2)
    assert content_ids(api, export) == [public("comp", one) for one in made]
    assert len(files_in(storage)) == ExportFile.objects.filter(export=export).count() == 5
    assert done in (0, 2, 4, 5)


@pytest.mark.usefixtures("small_parts")
def test_a_worker_that_comes_back_too_late_writes_nothing(api, scored, ask, run, storage, monkeypatch):
    made = scored(5)
    export = ask()
    late = claim()
    real, turns = parts.commit, []

    def slow(mine, part):
        """The first worker sleeps before its second commit until another one has done all of it."""
        if mine.attempt == 1 and part.number == 1 and not turns:
            turns.append(1)
            lease_runs_out(export)
            running.run(claim())
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", slow)
    running.run(late)
    export.refresh_from_db()
    assert (export.status, export.rows, export.attempt) == ("completed", 5, 2)
    assert content_ids(api, export) == [public("comp", one) for one in made]
    assert len(files_in(storage)) == 5


@pytest.mark.usefixtures("small_parts")
def test_cancelled_in_the_middle(api, scored, ask, storage, monkeypatch, django_capture_on_commit_callbacks):
    scored(5)
    export = ask()
    real = parts.commit

    def cancelled_after_the_first(mine, part):
        if part.number == 1:
            with django_capture_on_commit_callbacks(execute=True):
                assert api.post(f"/exports/{export.public_id}/cancel").status_code == 200
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", cancelled_after_the_first)
    running.work()
    export.refresh_from_db()
    assert (export.status, export.file_key, export.leased_until) == ("cancelled", None, None)
    assert ExportFile.objects.count() == 0
    assert files_in(storage) == []
    assert download(api, export).json()["code"] == "export_cancelled"


def test_cancelling_twice_and_too_late(api, ask, run):
    export = ask()
    for _ in range(2):
        answer = api.post(f"/exports/{export.public_id}/cancel")
        assert (answer.status_code, answer.json()["export"]["status"]) == (200, "cancelled")
    done = run(ask())
    answer = api.post(f"/exports/{done.public_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "export_over")


def test_cancelling_in_the_admin_passes_by_what_ended_meanwhile(ask, run, admin_client, monkeypatch):
    over, open_ = ask(), ask()
    real = ending.cancel

    def after_a_worker(export_id):
        if export_id == over.pk:
            ending.fail(claim(), "internal_error", "It failed.")
        return real(export_id)

    monkeypatch.setattr(ending, "cancel", after_a_worker)
    chosen = {"action": "cancel", "_selected_action": [over.pk, open_.pk], "confirmed": "yes"}
    page = admin_client.post("/admin/exports/export/", chosen, follow=True)
    assert "1 cancelled; 1 refused" in " ".join(str(message) for message in page.context["messages"])
    over.refresh_from_db()
    open_.refresh_from_db()
    assert (over.status, open_.status) == ("failed", "cancelled")


@pytest.mark.usefixtures("small_parts")
def test_a_worker_that_is_told_to_end_gives_it_back(api, scored, ask, run, monkeypatch):
    made = scored(5)
    export = ask()
    real = parts.commit

    def told(mine, part):
        kept = real(mine, part)
        running.stop()
        return kept

    with monkeypatch.context() as patch:
        patch.setattr(running, "_stopping", threading.Event())
        patch.setattr(parts, "commit", told)
        run(export)
    assert (export.status, export.rows, export.leased_until, export.failures) == ("pending", 2, None, 0)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", one) for one in made]


def test_whoever_lost_the_right_meanwhile_gets_nothing(api, scored, ask, run):
    scored(1)
    left, demoted, revoked = ask(), ask(), ask()
    person = Membership.objects.get(user=api.user)
    Export.objects.exclude(pk=demoted.pk).update(leased_until=timezone.now() + timedelta(hours=1))
    person.role = Role.objects.get(organization=None, name="reviewer")
    person.save()
    assert run(demoted).error_code == "forbidden"
    person.delete()
    Export.objects.filter(pk=left.pk).update(leased_until=None)
    assert run(left).error_code == "forbidden"
    Membership.objects.create(
        organization=api.organization, user=api.user, role=Role.objects.get(organization=None, name="training_operator")
    )
    api.api_key.revoked_at = timezone.now()
    api.api_key.save()
    Export.objects.filter(pk=revoked.pk).update(leased_until=None)
    assert run(revoked).error_code == "forbidden"
    assert {row.file_key for row in Export.objects.all()} == {None}


def test_a_key_that_reads_less_than_its_person_does_no_more_in_a_job(api_for, task, api, run, ask):
    """Both at the time it is asked for and when the key is gone."""
    role = Role.objects.create(
        name="own",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read"], "scope": "own"}],
    )
    narrow = api_for(organization=api.organization, user=api.user, role=role)
    export = ask(by=narrow)
    assert export.reach == "own"
    Export.objects.filter(pk=export.pk).update(api_key=None)
    assert run(export).error_code == "forbidden"  # the person reads more widely than the key did


def test_whoever_reads_less_widely_does_not_see_it(api_for, api, ask, run, operating):
    admin = api_for(organization=operating, role="admin")
    colleague = api_for(organization=operating, role="training_operator")
    wide = run(ask(by=admin))
    assert wide.reach == "all"
    for method, path in (("GET", ""), ("GET", "/download"), ("POST", "/links"), ("POST", "/cancel")):
        assert colleague.call(method, f"/exports/{wide.public_id}{path}").status_code == 404, path
    assert colleague.get("/exports").json()["exports"] == []
    role = Role.objects.create(
        name="own",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read"], "scope": "own"}],
    )
    mine = run(ask())
    narrow = api_for(organization=api.organization, user=api.user, role=role)
    assert narrow.get(f"/exports/{mine.public_id}").status_code == 404


@pytest.mark.parametrize("member", ["dimensions", "dimensionColumns"])
def test_dimensions_are_for_those_who_read_reasoning(api_for, api, scored, ask, run, member):
    scored(1)
    telling, plain = run(ask(**{member: True})), run(ask())
    role = Role.objects.create(
        name="without dimensions",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read", "update"], "scope": "organization"}],
    )
    narrow = api_for(organization=api.organization, role=role)
    for method, path in (("GET", ""), ("GET", "/download"), ("POST", "/links"), ("POST", "/cancel")):
        assert narrow.call(method, f"/exports/{telling.public_id}{path}").status_code == 404, path
    assert [one["id"] for one in narrow.get("/exports").json()["exports"]] == [plain.public_id]
    assert octets(download(narrow, plain))
    assert octets(download(api_for(organization=api.organization, role="training_operator"), telling))
    mine = run(ask(by=narrow, **{member: True}))
    assert octets(download(narrow, mine))


def test_what_does_not_exist_any_more_fails_with_its_reason(api, task, ask, run):
    export = ask(taskId=public("task", task))
    Export.objects.filter(pk=export.pk).update(query={"taskId": ids.encode("task", ids.new())})
    run(export)
    assert (export.status, export.error_code) == ("failed", "not_found")
    assert "taskId" in export.error_message
    assert not export.error_message.startswith("?")


def test_a_query_of_an_earlier_release_fails_with_its_reason(ask, run):
    export = ask()
    Export.objects.filter(pk=export.pk).update(query={"gone": 1})
    run(export)
    assert (export.status, export.error_code) == ("failed", "unknown_field")


def test_errors_of_our_own_are_tried_again_and_then_told(ask, run, scored, monkeypatch, caplog):
    scored(1)
    export = ask()

    def broken(*args):
        raise RuntimeError("a fault of ours, with a prompt in it")

    monkeypatch.setattr(parts, "make", broken)
    for failures in range(1, running.MOST_FAILURES):
        run(export)
        assert (export.status, export.failures) == ("pending", failures)
        assert export.leased_until > timezone.now()
        Export.objects.filter(pk=export.pk).update(leased_until=None)
    run(export)
    assert (export.status, export.error_code) == ("failed", "internal_error")
    assert "prompt" not in export.error_message


def test_c31_a_text_that_cannot_be_decrypted_is_left_out_and_counted(ask, run, scored):
    scored(4)
    field = Completion._meta.get_field("prompt")
    assert damage_rows(field, Completion.objects.filter(pk=Completion.objects.order_by("pk")[1].pk)) == 1
    export = run(ask())
    assert (export.status, export.rows, export.left_out) == ("completed", 3, 1)


def test_a_damaged_file_key_fails_the_export_at_once(ask, run, scored):
    scored(1)
    export, other = ask(), ask()
    Export.objects.filter(pk=other.pk).update(leased_until=timezone.now() + timedelta(hours=1))
    damage_rows(Export._meta.get_field("file_key"), Export.objects.filter(pk=export.pk))
    assert (run(export).status, export.error_code) == ("failed", "unreadable_text")


def test_json_that_is_taken_up_again_is_one_file_still(scored, ask, run, monkeypatch):
    """Whatever was scored after its only part was noted."""
    scored(2)
    export = ask(format="json")
    with monkeypatch.context() as patch:
        dies_in(patch, finishing, "finish")
        with pytest.raises(Died):
            run()
    scored(1)
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows) == ("completed", 2)
    assert [file.name for file in ExportFile.objects.filter(export=export, kind="data")] == ["records.json"]


def test_an_export_that_kills_its_workers_ends(ask, run):
    export = ask()
    for _ in range(running.MOST_FAILURES):
        claim()
        lease_runs_out(export)
    run(export)
    assert (export.status, export.error_code) == ("failed", "worker_lost")


def test_a_storage_that_is_away_is_waited_for(api, scored, ask, run, storage, settings):
    scored(1)
    export = ask()
    storage.parent.mkdir(exist_ok=True)
    storage.write_text("a file where the folder should be")
    run(export)
    assert (export.status, export.failures) == ("pending", 1)
    storage.unlink()
    Export.objects.filter(pk=export.pk).update(leased_until=None)
    assert run(export).status == "completed"


@pytest.mark.usefixtures("small_parts")
def test_a_database_that_goes_away_costs_no_failure_and_no_file(api, scored, ask, run, storage, monkeypatch):
    """Also where the commit went well, and only its answer was lost."""
    made = scored(5)
    export = ask()
    real = parts.commit

    def lost_answer(mine, part):
        real(mine, part)
        raise OperationalError("the connection was closed")

    with monkeypatch.context() as patch:
        patch.setattr(parts, "commit", lost_answer)
        run(export)
    assert (export.status, export.rows) == ("running", 2)
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows) == ("completed", 5)
    assert content_ids(api, export) == [public("comp", one) for one in made]


def test_expired_files_go(api, scored, ask, run, storage, settings, django_capture_on_commit_callbacks):
    scored(1)
    export, kept = run(ask()), run(ask())
    assert export.expires_at - export.completed_at == timedelta(days=settings.EXPORT_DAYS)
    Export.objects.filter(pk=export.pk).update(expires_at=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        assert ending.expire(timezone.now()) == 1
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("expired", None)
    assert api.get(f"/exports/{export.public_id}").json()["export"]["files"] is None
    assert {path.parent.name for path in files_in(storage)} == {kept.pk.hex}
    assert octets(download(api, kept))


def test_what_nobody_owns_is_cleaned_up(api, scored, ask, run, storage):
    scored(1)
    done = run(ask())
    stray = storing.store(done.pk, ids.new(), bytes(32), [b"of a worker that died"])
    nobody = storing.store(ids.new(), ids.new(), bytes(32), [b"of an export that is gone"])
    ended = run(ask())
    Export.objects.filter(pk=ended.pk).update(status="expired", file_key=None)  # and then the process died
    (storage / "not ours").mkdir()
    assert ending.clean_up() == 4
    left = {str(path.relative_to(storage)) for path in files_in(storage)}
    assert left == set(ExportFile.objects.filter(export=done).values_list("stored_as", flat=True))
    assert stray.name not in left
    assert nobody.name not in left
    assert octets(download(api, done))


# --- erasures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def erase(django_capture_on_commit_callbacks):
    def now(*completions):
        with django_capture_on_commit_callbacks(execute=True):
            return erasing.erase([one.pk for one in completions], end_unfinished=True)

    return now


def test_an_erased_text_withdraws_what_holds_it(api, scored, ask, run, storage, erase):
    from autotune.access.models import AuditEvent

    made = scored(3)
    export = run(ask())
    erase(made[1])
    export.refresh_from_db()
    assert (export.status, export.file_key, export.error_code) == ("withdrawn", None, "withdrawn")
    assert files_in(storage) == []
    assert download(api, export).json()["code"] == "export_withdrawn"
    event = AuditEvent.objects.get(action="exports.withdraw")
    assert (event.object_id, event.organization_id, event.actor) == (export.public_id, api.organization.pk, "erasure")
    again = run(ask())
    assert content_ids(api, again) == [public("comp", made[0]), public("comp", made[2])]


def test_a_deleted_score_withdraws_what_tells_it(scored, ask, run, django_capture_on_commit_callbacks):
    made = scored(3)
    export = run(ask())
    with django_capture_on_commit_callbacks(execute=True):
        deleting.delete_score(made[1].scores.get().pk)
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("withdrawn", None)


def test_what_does_not_hold_it_stays(api, scored, ask, run, erase, api_for):
    other_task = TaskFactory(organization=api.organization)
    elsewhere = scored(1, task=other_task)
    made = scored(3)
    before = run(ask(taskId=public("task", made[0].task)))
    later = scored(2)  # behind the range
    other_model = run(ask(modelId="another"))
    foreign = scored(1, task=TaskFactory())
    erase(*elsewhere, later[1], *foreign)
    for export in (before, other_model):
        export.refresh_from_db()
        assert export.status == "completed"


def test_an_export_of_all_is_withdrawn_for_anybodys_text(api_for, operating, scored, ask, run, erase):
    foreign = scored(1, task=TaskFactory(organization=OrganizationFactory()))
    export = run(ask(by=api_for(organization=operating, role="admin")))
    assert export.rows == 1
    erase(*foreign)
    export.refresh_from_db()
    assert export.status == "withdrawn"


@pytest.mark.usefixtures("small_parts")
def test_a_completion_deleted_in_a_part_that_is_being_made_is_not_in_it(api, scored, ask, run, monkeypatch):
    """Retention of scores leaves no row behind that could say when its text went."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def purged_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            assert purging.purge([made[2].pk], scored_before=timezone.now() + timedelta(days=1)) == 1
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", purged_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", one) for one in made if one != made[2]]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_in_a_part_that_is_being_made_is_not_in_it(api, scored, ask, run, erase, storage, monkeypatch):
    """It was read, and the file written; then it was erased, before the part counted."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(made[2])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    expected = [public("comp", one) for one in made if one != made[2]]
    assert content_ids(api, export) == expected
    assert len(files_in(storage)) == ExportFile.objects.filter(export=export).count()


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_between_its_reading_and_its_part_is_not_in_it(api, scored, ask, run, erase, monkeypatch):
    """The first batch of the next part is read before the part at hand is committed."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 0 and not turns:
            turns.append(1)
            erase(made[2])  # the next part's first, read already
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", one) for one in made if one != made[2]]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_from_a_finished_part_withdraws_a_running_export(
    api, scored, ask, run, erase, storage, monkeypatch
):
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(made[0])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert (export.status, export.file_key) == ("withdrawn", None)
    assert files_in(storage) == []


@pytest.mark.usefixtures("small_parts")
def test_a_part_of_which_nothing_is_left_has_no_file(api, scored, ask, run, monkeypatch):
    made = scored(6)
    export = ask()
    real = parts.make

    def erased_before(mine, key, query, columns, cutter, part):
        if part.number == 1:  # behind the reading of the heads
            Completion.objects.filter(pk__in=[made[3].pk]).update(prompt=None, response=None, erased_at=timezone.now())
        return real(mine, key, query, columns, cutter, part)

    monkeypatch.setattr(parts, "make", erased_before)
    run(export)
    assert export.status == "completed"
    assert export.rows + export.left_out <= 6
    assert all(rows_ for rows_ in ExportFile.objects.filter(export=export, kind="data").values_list("rows", flat=True))
