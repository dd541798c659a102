"""Graders as their pages show them, and visitors of each role."""

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from graders.models import Grader
from graders.statistics import tallies
from tests.factories import GraderFactory, OrganizationFactory, UserFactory

HOSTILE = '<script>alert("x")</script>\u202eevil\u202c😀 ' + "long " * 40


@pytest.fixture
def owner(visitor):
    """A grader owner's browser."""
    return visitor("grader_owner")


@pytest.fixture
def grader(owner):
    """An active grader that the owner made."""
    return GraderFactory(
        organization=owner.organization, created_by=owner.user, name="Law", description="Judges law",
        domains=["law", "contracts"], endpoint="https://law.example.org",
    )  # fmt: skip


@pytest.fixture
def colleague(visitor, owner):
    """`colleague(role)`: another person of the owner's organization."""
    return lambda role: visitor(role, owner.organization)


@pytest.fixture
def listed(db):
    """A grader that another organization lists."""
    other = OrganizationFactory(name="Elsewhere")
    return GraderFactory(
        organization=other, created_by=UserFactory(), name="Open maths", description="Judges maths", visibility="listed",
        domains=["maths"], endpoint="https://secret-address.example.org",
    )  # fmt: skip


@pytest.fixture
def counted():
    """`counted(grader, values, errors)`: results as drains record them."""

    def record(grader, values=(), errors=None, latency_ms=120.0):
        tallies.record(
            grader.pk, grader.version_id, values=list(values), latency_ms=[latency_ms] * len(values),
            errors=errors or {},
        )  # fmt: skip

    return record


def address(name, grader):
    """The address of one of a grader's pages."""
    return reverse(name, args=[grader.pk])


def point(grader, url, **fields):
    """Let the grader live at a URL, unverified."""
    Grader.objects.filter(pk=grader.pk).update(
        **{"endpoint": url, "status": "inactive", "verified_at": None, "version": None} | fields
    )


def rotation(client, grader, **data):
    """The form of a rotation, filled in: with the ticket that the page gave it."""
    body = client.get(address("grader_rotate", grader)).content.decode()
    return {"ticket": re.search(r'name="ticket" value="([^"]+)"', body)[1], **data}


@pytest.fixture
def ago():
    return lambda **span: timezone.now() - timedelta(**span)


@pytest.fixture
def pages():
    """Names for the addresses: `pages.address(name, grader)`, `pages.point(grader, url)`, `pages.rotation(client, grader)`."""
    return SimpleNamespace(address=address, point=point, rotation=rotation, hostile=HOSTILE)
