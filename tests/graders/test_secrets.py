"""POST /graders/:id/rotate-secret, and which secret signs when (docs/protocol/README.md, section 1)."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from autotune.core.errors import Conflict
from graders import credentials, targets
from graders.models import GraderSecret
from tests.factories import SECRET, GraderFactory


def rotated(api, path, body=None):
    answer = api.post(f"{path}/rotate-secret", body)
    assert answer.status_code == 200, answer.content
    return answer.json()["credentials"]["sharedSecret"]


def signing(grader):
    return [secret.value for secret in targets.load(grader).signing]


def test_both_secrets_are_active_and_the_previous_one_signs(owner, grader, path):
    new = rotated(owner, path)
    assert signing(grader) == [SECRET, new]
    shown = owner.get(path).json()["grader"]["authentication"]
    current, previous = GraderSecret.objects.get(current=True), GraderSecret.objects.get(current=False)
    assert (shown["keyId"], shown["previousKeyId"]) == (current.key_id, previous.key_id)
    until = previous.valid_until - timezone.now()
    assert timedelta(hours=23, minutes=59) < until <= timedelta(hours=24)
    assert shown["previousValidUntil"].endswith("Z")


def test_the_current_one_signs_once_an_answer_verified_with_it(owner, grader, path):
    new = rotated(owner, path)
    target = targets.load(grader)
    credentials.note_verified(target, target.current.key_id)
    assert signing(grader) == [new, SECRET]


def test_an_answer_with_the_signing_secret_writes_nothing(owner, grader, path, django_assert_num_queries):
    rotated(owner, path)
    target = targets.load(grader)
    with django_assert_num_queries(0):
        credentials.note_verified(target, target.signing[0].key_id)
        credentials.note_verified(target, None)


def end_grace_period(*, hours):
    """The database's clock decides, so the rows are made older."""
    GraderSecret.objects.filter(current=False).update(valid_until=F("valid_until") - timedelta(hours=hours, seconds=1))


def test_after_the_grace_period_the_previous_one_is_refused(owner, grader, path):
    new = rotated(owner, path, {"graceHours": 1})
    end_grace_period(hours=1)
    assert signing(grader) == [new]
    assert owner.get(path).json()["grader"]["authentication"]["previousKeyId"] is None
    assert credentials.drop_expired() == 1
    assert GraderSecret.objects.get().secret == new


def test_expiry_leaves_secrets_in_their_grace_period(owner, path):
    rotated(owner, path)
    assert credentials.drop_expired() == 0
    assert GraderSecret.objects.count() == 2


def test_without_grace_the_old_one_ends_at_once(owner, grader, path):
    new = rotated(owner, path, {"graceHours": 0})
    assert signing(grader) == [new]
    assert GraderSecret.objects.count() == 1


def test_a_second_rotation_in_the_grace_period_is_a_conflict(owner, grader, path):
    new = rotated(owner, path)
    answer = owner.post(f"{path}/rotate-secret", {"force": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "rotation_in_progress")
    assert signing(grader) == [SECRET, new]


def test_a_forced_one_ends_the_oldest_at_once(owner, grader, path):
    second = rotated(owner, path)
    third = rotated(owner, path, {"force": True})
    assert signing(grader) == [second, third]


def test_after_the_grace_period_it_rotates_without_force(owner, grader, path):
    second = rotated(owner, path, {"graceHours": 1})
    end_grace_period(hours=2)
    third = rotated(owner, path)
    assert signing(grader) == [second, third]


def test_there_is_never_more_than_one_current_secret(owner, path):
    for _ in range(3):
        rotated(owner, path, {"force": True})
    assert GraderSecret.objects.filter(current=True).count() == 1
    assert GraderSecret.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"graceHours": -1}, "/graceHours"),
        ({"graceHours": 721}, "/graceHours"),
        ({"graceHours": "1"}, "/graceHours"),
        ({"force": 1}, "/force"),
        ({"secret": "mine"}, "/secret"),
    ],
)
def test_a_refusal_names_its_member(owner, grader, path, body, pointer):
    answer = owner.post(f"{path}/rotate-secret", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, pointer)
    assert signing(grader) == [SECRET]


def test_an_empty_body_counts_as_no_members(owner, path):
    assert owner.post(f"{path}/rotate-secret").status_code == 200


def test_the_wrong_role_gets_403_a_stranger_404_and_a_missing_key_401(colleague, api_for, owner, grader, path):
    assert colleague("training_operator").post(f"{path}/rotate-secret").status_code == 403
    assert colleague("grader_owner").post(f"{path}/rotate-secret").status_code == 404
    assert api_for(role="organization_admin").post(f"{path}/rotate-secret").status_code == 404
    owner.key = None
    assert owner.post(f"{path}/rotate-secret").status_code == 401
    assert signing(grader) == [SECRET]


def test_new_secrets_are_of_the_protocols_form():
    new_secrets = {credentials.new_secret() for _ in range(50)}
    assert len(new_secrets) == 50
    assert all(48 <= len(text) <= 128 and text.startswith("atgs_") and text.isascii() for text in new_secrets)


def test_a_malformed_key_id_confirms_nothing(db):
    assert credentials.confirm("gkey_nonsense") is False
    assert credentials.confirm("") is False


def test_many_targets_load_in_one_query_besides_their_data_keys(grader, django_assert_max_num_queries):
    graders = [grader, GraderFactory(), GraderFactory()]
    credentials.retire(graders[2].pk)
    with django_assert_max_num_queries(1 + 2):
        loaded = targets.load_many(graders)
    assert set(loaded) == {graders[0].pk, graders[1].pk}
    target = loaded[grader.pk]
    assert (target.base_url, target.max_batch_size, target.timeout_ms) == (grader.endpoint, 100, 4000)
    assert SECRET not in repr(target)


def test_a_grader_without_secrets_cannot_be_called(grader):
    credentials.retire(grader.pk)
    with pytest.raises(Conflict):
        targets.load(grader)
