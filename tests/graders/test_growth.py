"""C33: limits on what a grader can make grow, and the report to its owner."""

from datetime import timedelta

import pytest
from django.utils import timezone

from graders import cleaning, status, versions
from graders.models import Grader, GraderStatusChange, GraderVersion
from graders.states import GraderStatus, Trouble
from tests.factories import GraderFactory, public
from tests.support.concurrency import together

pytestmark = pytest.mark.django_db
MANY = 130


@pytest.fixture
def owner(api_for):
    return api_for(role__name="grader_owner")


@pytest.fixture
def grader(owner):
    return GraderFactory(organization=owner.organization, created_by=owner.user)


def report(grader, label):
    """One health check at which the grader reports the label."""
    return versions.seen(Grader.objects.get(pk=grader.pk), label)


def report_versions(grader, count=MANY):
    for number in range(count):
        report(grader, f"build {number}")


def test_c33_versions_that_change_with_each_response_are_bounded_and_reported(owner, grader):
    before = GraderVersion.objects.filter(grader=grader).count()
    report_versions(grader)
    assert GraderVersion.objects.filter(grader=grader).count() <= before + versions.MAX_NEW + 1
    grader.refresh_from_db()
    assert grader.version.label == versions.UNLISTED  # a score names no version that did not judge
    assert (grader.status, grader.troubles) == (GraderStatus.DEGRADED, [Trouble.VERSIONS])
    body = owner.get(f"/graders/{public('grader', grader)}/health").json()
    assert body["troubles"] == ["versions"]
    assert "more than 20 new versions" in body["statusChanges"][0]["reason"]
    assert GraderStatusChange.objects.filter(grader=grader).count() == 1  # reported once


def test_c33_the_trouble_ends_when_the_version_stays(grader):
    report_versions(grader)
    report(grader, "build 0")  # listed, but too many are new: it would start again at once
    grader.refresh_from_db()
    assert grader.troubles == [Trouble.VERSIONS]
    GraderVersion.objects.filter(grader=grader).update(first_seen_at=timezone.now() - timedelta(days=2))
    assert report(grader, "build 0").label == "build 0"
    grader.refresh_from_db()
    assert (grader.status, grader.troubles) == (GraderStatus.ACTIVE, [])
    assert report(grader, "build 999").label == "build 999"


@pytest.mark.parametrize("label", [None, "", "build 3", "unlisted"])
def test_c33_an_existing_label_is_not_a_new_version(grader, label):
    report_versions(grader, versions.MAX_NEW - 1)  # plus the one that it starts with
    count = GraderVersion.objects.filter(grader=grader).count()
    report(grader, label)
    grader.refresh_from_db()
    assert GraderVersion.objects.filter(grader=grader).count() <= count + 1
    assert (Trouble.VERSIONS in grader.troubles) is (label == "unlisted")


def test_c33_each_grader_has_its_own_bound(grader):
    report_versions(grader)
    assert report(GraderFactory(), "1.2.3").label == "1.2.3"


def test_c33_the_list_is_paged(owner, grader):
    report_versions(grader)
    path = f"/graders/{public('grader', grader)}/versions"
    whole = owner.get(path + "?limit=1000").json()["versions"]
    first = owner.get(path + "?limit=7").json()
    assert (len(first["versions"]), first["pagination"]["total"]) == (7, len(whole))
    rest = owner.get(f"{path}?limit=1000&cursor={first['pagination']['nextCursor']}").json()
    assert [v["id"] for v in first["versions"] + rest["versions"]] == [v["id"] for v in whole]
    assert owner.get(path + "?limit=1001").status_code == 400


def test_c33_changes_of_status_do_not_grow_for_ever(grader, monkeypatch):
    monkeypatch.setattr(cleaning, "MOST_CHANGES", 6)
    monkeypatch.setattr(cleaning, "KEPT", 2)
    for number in range(20):
        status.change(grader.pk, (GraderStatus.DEGRADED, GraderStatus.ACTIVE)[number % 2], f"change {number}")
    cleaning.clean(timezone.now() + timedelta(seconds=1))
    changes = GraderStatusChange.objects.filter(grader=grader).order_by("-id")
    assert len(changes) in (6, 7)
    assert changes[0].reason == "change 19"


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_c33_concurrent_health_checks_keep_the_bound(grader):
    report_versions(grader, versions.MAX_NEW - 1)
    together(*[lambda label=label: report(grader, label) for label in ("a", "b", "c", "d")])
    assert GraderVersion.objects.filter(grader=grader).count() <= versions.MAX_NEW + 6
