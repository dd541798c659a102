"""Select audit events by part of a person's name or of an address."""

from typing import Final

from django.db import connection
from django.db.models import Q

from autotune.access import policy
from autotune.access.models import AuditEvent, User
from autotune.access.models.audit import VIEW
from autotune.access.principal import Principal

MOST_ACTORS: Final = 5_000  # of a chain: different actors that a search compares
MOST_MATCHES: Final = 200


def matching(principal: Principal, text: str, *, changes: bool) -> Q:
    """Return the condition on events whose actor contains the text, or is a person whose name contains it.

    changes  only changes are read: these have an index by actor, from which the different actors are read
    """
    people = User.objects.filter(Q(name__icontains=text) | Q(email__icontains=text))
    everywhere = policy.reach(principal, "audit", "read") == "all"
    if not everywhere:
        people = people.filter(membership__organization=principal.organization)
    people_ids, emails = set(), set()
    for person_id, email in people.order_by("pk").values_list("pk", "email")[:MOST_MATCHES]:
        people_ids.add(person_id)
        emails.add(email)
    if everywhere or not changes:
        return Q(actor__icontains=text) | Q(user_id__in=people_ids)
    return Q(actor__in=emails | _actors_containing(principal, text))


def _actors_containing(principal: Principal, text: str) -> set[str]:
    part = text.casefold()
    matches = (actor for actor in _actors_of_changes(principal) if part in actor.casefold())
    return {actor for actor, _ in zip(matches, range(MOST_MATCHES), strict=False)}


def _actors_of_changes(principal: Principal) -> list[str]:
    """Return the different actors of the organization's changes, one index entry read for each."""
    quote = connection.ops.quote_name
    table = quote(AuditEvent._meta.db_table)
    change = f"length(replace(action, '{VIEW}', '')) = length(action)"
    chain = AuditEvent._meta.get_field("chain").get_db_prep_value(principal.organization.pk, connection)
    statement = f"""
        WITH RECURSIVE actors(actor) AS (
            SELECT (SELECT min(actor) FROM {table} WHERE chain = %s AND {change})
            UNION ALL
            SELECT (SELECT min(events.actor) FROM {table} events
                    WHERE events.chain = %s AND events.actor > actors.actor
                      AND length(replace(events.action, '{VIEW}', '')) = length(events.action))
            FROM actors WHERE actors.actor IS NOT NULL
        )
        SELECT actor FROM actors WHERE actor IS NOT NULL LIMIT {MOST_ACTORS}
    """  # noqa: S608 - names of the model and constants
    with connection.cursor() as cursor:
        cursor.execute(statement, [chain, chain])
        return [actor for (actor,) in cursor.fetchall()]
