"""`python -m tests.contract.world GRADER_URL`: an organization with objects for each built-in role; JSON to read back.

Runs in a process of its own, on the database of the server that will be asked.
"""

import json
import sys

import django
from django.conf import settings


def worlds(grader_url):
    """{role: {key, ids}}: a caller of each built-in role, with the ids of what its organization has."""
    options = settings.STORAGES["exports"]["OPTIONS"]
    location = options["location"]
    from tests.api.conftest import world_of  # which gives the files of exports a place of the tests' own
    from tests.factories import ApiKeyFactory, OrganizationFactory

    options["location"] = location  # where the server looks
    operating = OrganizationFactory(operating=True)
    callers = {}
    for role in ("admin", "organization_admin", "training_operator", "grader_owner", "reviewer", "collector"):
        key = ApiKeyFactory(role=role, organization=operating if role == "admin" else OrganizationFactory())
        world = world_of(key, grader_url)
        own(world, key.user)
        callers[role] = {"key": key.text, "ids": {name: value for name, value in world.ids.items() if name != "token"}}
    return callers


def own(world, user):
    """Make the caller the creator of what a role may change only if it is its own; and mark the event as fanned out."""
    for row in (world.grader, world.spare_grader, world.task, world.delivery.webhook):
        type(row).objects.filter(pk=row.pk).update(created_by=user)
    event = world.delivery.event
    type(event).objects.filter(pk=event.pk).update(fanned_out_at=event.created_at)


if __name__ == "__main__":
    django.setup()
    print(json.dumps(worlds(sys.argv[1])))
