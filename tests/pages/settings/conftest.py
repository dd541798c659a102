"""Roles that allow little, names that break pages, and the secret on an answer."""

import re

import pytest

from autotune.access.models import Role

HOSTILE = "<script>alert(1)</script>\u202e \U0001f9ea" + "x" * 120


@pytest.fixture
def role_of(db):
    """`role_of(organization, members=("organization", "read"), …)`: a custom role of nothing else."""

    def make(organization, name="little", **may):
        permissions = [
            {"resource": resource, "scope": scope, "actions": actions} for resource, (scope, *actions) in may.items()
        ]
        return Role.objects.create(organization=organization, name=name, permissions=permissions)

    return make


@pytest.fixture
def ticket_at():
    """`ticket_at(client, path, action=None)`: the ticket of the form on a page; of the one that is sent to `action`."""

    def look(client, path, action=None):
        body = client.get(path).content.decode()
        if action:
            body = body[body.index(f'action="{action}"') :]
        return re.search(r'name="ticket" value="([^"]+)"', body)[1]

    return look


@pytest.fixture
def secret_in():
    """`secret_in(answer)`: the secret that is shown on it; None without one."""

    def look(answer):
        match = re.search(r'<code id="secret">([^<]+)</code>', answer.content.decode())
        return match[1] if match else None

    return look
