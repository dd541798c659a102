"""Every route × every built-in role × own, same organization, other organization, as the table of roles defines.

A new route without a row here fails, and so does a row without a route. The columns are the roles; a cell says what
becomes of one's own object, a colleague's and another organization's:

    +  done (or refused for what it asks, not for who asks)    -  403    0  404    .  not in the list

A route without an id has one letter, a list three. `own` and `organization` differ for people with the scope `own`.
"""

import pytest

from tests.access.matrix import cell, outcome, owned, routes
from tests.conftest import Api
from tests.factories import OrganizationFactory

ROLES = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin", "collector")
TABLE = """
GET    /organizations                                -    -    -    ++.  +++  -
POST   /organizations                                -    -    -    -    +    -
GET    /organizations/:org                           ---  ---  ---  ++0  +++  ---
PATCH  /organizations/:org                           ---  ---  ---  ++0  +++  ---
GET    /members                                      -    -    -    ++.  +++  -
POST   /members                                      -    -    -    +    +    -
GET    /members/:member                              ---  ---  ---  ++0  +++  ---
PATCH  /members/:member                              ---  ---  ---  -+0  -++  ---
DELETE /members/:member                              ---  ---  ---  ++0  +++  ---
GET    /roles                                        -    -    -    ++.  +++  -
POST   /roles                                        -    -    -    +    +    -
GET    /roles/:role                                  ---  ---  ---  ++0  +++  ---
PATCH  /roles/:role                                  ---  ---  ---  ++0  +++  ---
DELETE /roles/:role                                  ---  ---  ---  ++0  +++  ---
GET    /api-keys                                     +..  +..  +..  ++.  +++  -
POST   /api-keys                                     +    +    +    +    +    -
GET    /api-keys/:key                                +00  +00  +00  ++0  +++  ---
PATCH  /api-keys/:key                                +00  +00  +00  ++0  +++  ---
DELETE /api-keys/:key                                +00  +00  +00  ++0  +++  ---
POST   /api-keys/:key/revoke                         +00  +00  +00  ++0  +++  ---
POST   /api-keys/:key/rotate                         +00  +00  +00  +-0  +--  ---
GET    /audit-events                                 -    -    -    ++.  +++  -
GET    /audit-events/export                          -    -    -    ++.  +++  -
GET    /audit-events/:aud                            ---  ---  ---  ++0  +++  ---
GET    /webhooks                                     +..  ++.  -    ++.  +++  -
POST   /webhooks                                     +    +    -    +    +    -
GET    /webhooks/:whk                                +00  ++0  ---  ++0  +++  ---
PATCH  /webhooks/:whk                                +00  ++0  ---  ++0  +++  ---
DELETE /webhooks/:whk                                +00  ++0  ---  ++0  +++  ---
POST   /webhooks/:whk/test                           +00  ++0  ---  ++0  +++  ---
POST   /webhooks/:whk/rotate-secret                  +00  ++0  ---  ++0  +++  ---
GET    /webhooks/:whk/deliveries                     +00  ++0  ---  ++0  +++  ---
POST   /webhooks/:whk/deliveries/:dlv/redeliver      +00  ++0  ---  ++0  +++  ---
GET    /graders                                      +..  ++.  ++.  ++.  +++  -
POST   /graders                                      +    -    -    +    +    -
GET    /graders/:grader                              +00  ++0  ++0  ++0  +++  ---
PATCH  /graders/:grader                              +00  ---  ---  ++0  +++  ---
DELETE /graders/:grader                              +00  ---  ---  ++0  +++  ---
POST   /graders/:grader/verify                       +00  ---  ---  ++0  +++  ---
POST   /graders/:grader/rotate-secret                +00  ---  ---  ++0  +++  ---
GET    /graders/:grader/stats                        +00  ++0  ++0  ++0  +++  ---
GET    /graders/:grader/health                       +00  ++0  ++0  ++0  +++  ---
POST   /graders/:grader/health                       +00  ---  ---  ++0  +++  ---
GET    /graders/:grader/versions                     +00  ++0  ++0  ++0  +++  ---
GET    /tasks                                        -    ++.  ++.  ++.  +++  -
POST   /tasks                                        -    +    -    +    +    -
GET    /tasks/:task/versions                         ---  ++0  ++0  ++0  +++  ---
GET    /tasks/:task                                  ---  ++0  ++0  ++0  +++  ---
PATCH  /tasks/:task                                  ---  ++0  ---  ++0  +++  ---
DELETE /tasks/:task                                  ---  ---  ---  ++0  +++  ---
GET    /completions                                  ...  ++.  ++.  ++.  +++  -
POST   /completions                                  -    +    -    +    +    -
POST   /completions/batch                            -    +    -    +    +    -
GET    /completions/:comp                            000  ++0  ++0  ++0  +++  ---
DELETE /completions/:comp                            ---  ---  ---  ++0  +++  ---
GET    /completions/:comp/score                      +00  ++0  ++0  ++0  +++  ---
POST   /completions/:comp/rescore                    ---  ++0  ---  ++0  +++  ---
POST   /rewards                                      -    +    -    +    +    -
GET    /erasures                                     -    -    -    ++.  +++  -
POST   /erasures                                     -    -    -    +    +    -
GET    /erasures/:ers                                ---  ---  ---  ++0  +++  ---
GET    /legal-holds                                  -    -    -    ++.  +++  -
POST   /legal-holds                                  -    -    -    +    +    -
GET    /legal-holds/:hold                            ---  ---  ---  ++0  +++  ---
DELETE /legal-holds/:hold                            ---  ---  ---  ++0  +++  ---
GET    /reviews                                      -    ++.  ++.  ++.  +++  -
GET    /reviews/:rev                                 ---  ++0  ++0  ++0  +++  ---
POST   /reviews/:rev/claim                           ---  ---  ++0  ++0  +++  ---
POST   /reviews/:rev/decision                        ---  ---  ++0  ++0  +++  ---
GET    /scores                                       +..  ++.  ++.  ++.  +++  -
GET    /scores/summary                               +    +    +    +    +    -
GET    /scores/:score                                +00  ++0  ++0  ++0  +++  ---
DELETE /scores/:score                                ---  ---  ---  ++0  +++  ---
GET    /workflow-runs                                +..  ++.  ++.  ++.  +++  -
POST   /workflow-runs/retry                          -    +    -    +    +    -
GET    /workflow-runs/:run                           +00  ++0  ++0  ++0  +++  ---
POST   /workflow-runs/:run/retry                     ---  ++0  ---  ++0  +++  ---
POST   /workflow-runs/:run/cancel                    ---  ++0  ---  ++0  +++  ---
GET    /scores/export                                -    ++.  -    ++.  +++  -
POST   /preference-pairs                             -    +    -    +    +    -
GET    /exports                                      -    ++.  -    ++.  +++  -
POST   /exports                                      -    +    -    +    +    -
GET    /exports/:exp                                 ---  ++0  ---  ++0  +++  ---
POST   /exports/:exp/cancel                          ---  ++0  ---  ++0  +++  ---
GET    /exports/:exp/download                        ---  ++0  ---  ++0  +++  ---
POST   /exports/:exp/links                           ---  ++0  ---  ++0  +++  ---
GET    /reward-endpoints                             -    ++.  -    ++.  +++  -
POST   /reward-endpoints                             -    +    -    +    +    -
GET    /reward-endpoints/:rwd                        ---  ++0  ---  ++0  +++  ---
PATCH  /reward-endpoints/:rwd                        ---  ++0  ---  ++0  +++  ---
DELETE /reward-endpoints/:rwd                        ---  ++0  ---  ++0  +++  ---
POST   /reward-endpoints/:rwd/rotate                 ---  ++0  ---  ++0  +++  ---
GET    /health                                       +    +    +    +    +    +
GET    /ready                                        +    +    +    +    +    +
GET    /moving                                       +    +    +    +    +    +
GET    /metrics                                      -    -    -    -    +    -
GET    /schema                                       +    +    +    +    +    +
GET    /docs                                         +    +    +    +    +    +
"""
TOKENS = {"/callbacks/:str", "/downloads/:str", "/rewards/:str/:str"}  # who has the address, may
OPEN = {"/health", "/ready", "/moving", "/metrics", "/schema", "/docs"}  # no key, or networks


def table():
    rows = {}
    for line in TABLE.strip().splitlines():
        method, route, *cells = line.split()
        assert len(cells) == len(ROLES), line
        rows[method, route] = dict(zip(ROLES, cells, strict=True))
    return rows


ROWS = table()


def test_every_route_has_a_row_and_every_row_a_route():
    assert set(ROWS) == {(method, route) for method, route, _ in routes() if route not in TOKENS}


@pytest.mark.parametrize("role", ROLES)
def test_the_routes_allow_what_the_table_says(role, db):
    home = OrganizationFactory(operating=role == "admin")
    me, same = owned(home, role), owned(home, "reviewer")
    if role != "admin":
        OrganizationFactory(operating=True)
    other = owned(OrganizationFactory(), "reviewer")
    outcomes = {row: cell(*row, me, same, other) for row in ROWS}
    assert outcomes == {row: cells[role] for row, cells in ROWS.items()}


def test_without_a_key_every_route_is_refused(db):
    whose = owned(OrganizationFactory(), "reviewer")
    stranger = type(whose)(Api(), whose.ids)
    for method, route in ROWS:
        if route in OPEN:
            continue
        assert set(cell(method, route, stranger, whose, whose)) == {"!"}, (method, route)


def test_the_walk_undoes_what_it_does(db):
    me = owned(OrganizationFactory(operating=True), "admin")
    for _ in range(2):
        assert outcome(me.api, "DELETE", f"/webhooks/{me.ids['whk']}", None)[0] == "+"
