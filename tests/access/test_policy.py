"""What each role may do is the contract's table, and a scope is what a queryset leaves."""

import pytest

from autotune.access import policy
from autotune.access.models import ApiKey, Membership, Organization, Role
from autotune.access.policy import ScopedQuerySet
from autotune.access.principal import Principal
from autotune.access.roles import builtin
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.errors import Forbidden, NotFound
from graders.models import Grader
from scores.models import Score, WorkflowRun
from tasks.models import Completion, Task
from tests.access.matrix import routes
from tests.factories import GraderFactory, OrganizationFactory, ScoreFactory, TaskFactory, UserFactory
from tools.page_routes import pages

COLUMNS = ("grader_owner", "training_operator", "reviewer", "organization_admin", "admin", "collector")
# c create, r read, u update, d delete; then own, organization or all. Retry and cancel are the update of a run.
TABLE = """
tasks              -         cru organization   r organization    crud organization  crud all  -
completions        -         cr organization    r organization    crd organization   crd all   -
shared_completions r own     -                  -                 r organization     r all     -
scores             r own     r organization     r organization    rd organization    rd all    -
reasoning          r own     r organization     r organization    r organization     r all     -
workflow_runs      r own     ru organization    r organization    rud organization   rud all   -
endpoint_graders   crud own  r organization     r organization    crud organization  crud all  -
listed_graders     -         r all              -                 r all              r all     -
rubric_graders     crud own  cru organization   r organization    crud organization  crud all  -
reviews            r own     cr organization    cru organization  crud organization  crud all  -
feedback           r own     cr organization    cru organization  crud organization  crud all  -
calibration        r own     cr organization    cru organization  crud organization  crud all  -
canary_sets        r own     cr organization    cru organization  crud organization  crud all  -
exports            -         crud organization  -                 crud organization  crud all  -
preference_pairs   -         crud organization  -                 crud organization  crud all  -
rewards            -         crud organization  -                 crud organization  crud all  -
reward_endpoints   -         crud organization  -                 crud organization  crud all  -
evaluations        -         crud organization  r organization    crud organization  crud all  -
reports            -         crud organization  r organization    crud organization  crud all  -
datasets           -         crud organization  r organization    crud organization  crud all  -
experiments        -         crud organization  r organization    crud organization  crud all  -
decks              -         crud organization  r organization    crud organization  crud all  -
telemetry          -         crud organization  r organization    crud organization  crud all  c organization
model_calls        r own     r organization     -                 r organization     r all     -
usage              r own     r organization     -                 r organization     r all     -
providers          -         -                  -                 crud organization  crud all  -
budgets            -         -                  -                 crud organization  crud all  -
alerts             crud own  crud own           crud own          crud organization  crud all  -
notifications      rud own   rud own            rud own           rud own            rud own   -
views              crud own  crud own           crud own          crud own           crud own  -
webhooks           crud own  crud organization  -                 crud organization  crud all  -
keys               crud own  crud own           crud own          crud organization  crud all  -
organizations      -         -                  -                 ru organization    cru all   -
members            -         -                  -                 crud organization  crud all  -
roles              -         -                  -                 crud organization  crud all  -
audit              -         -                  -                 r organization     r all     -
retention          -         -                  -                 crud organization  crud all  -
"""
ACTIONS = {"c": "create", "r": "read", "u": "update", "d": "delete"}


def cells():
    """(role, resource, action) -> scope or None, from the table."""
    expected = {}
    for line in TABLE.strip().splitlines():
        resource, *words = line.split()
        for column in COLUMNS:
            letters = words.pop(0)
            scope = None if letters == "-" else words.pop(0)
            for letter, action in ACTIONS.items():
                expected[column, resource, action] = scope if letter in letters else None
        assert words == []
    return expected


EXPECTED = cells()


def granted(permissions):
    return {
        (entry["resource"], action): entry["scope"] for entry in permissions for action in entry["actions"]
    }  # fmt: skip


def test_the_table_names_every_resource_and_every_built_in_role():
    assert {resource for _, resource, _ in EXPECTED} == set(builtin.RESOURCES)
    assert set(COLUMNS) == set(builtin.BUILT_IN)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_data_of_a_role_is_the_table(name):
    permissions = granted(builtin.permissions(name))
    assert permissions == {(res, act): scope for (role, res, act), scope in EXPECTED.items() if role == name and scope}


@pytest.mark.django_db
@pytest.mark.parametrize("name", COLUMNS)
def test_the_migration_wrote_that_data(name):
    role = Role.objects.get(organization=None, name=name)
    assert granted(role.permissions) == granted(builtin.permissions(name))
    assert builtin.fault(role.permissions) is None


@pytest.fixture
def principal_of(db):
    def make(role, organization=None, *, operating=False, user=None):
        organization = organization or OrganizationFactory(operating=operating)
        role = role if isinstance(role, Role) else Role.objects.get(organization=None, name=role)
        return Principal(organization, role, user or UserFactory())

    return make


@pytest.mark.parametrize("name", COLUMNS)
def test_every_cell_of_the_table_is_what_the_policy_decides(principal_of, name):
    principal = principal_of(name, operating=True)
    for (role, resource, action), scope in EXPECTED.items():
        if role != name:
            continue
        assert policy.reach(principal, resource, action) == scope, (resource, action)
        if scope is None:
            with pytest.raises(Forbidden, match=f"role {name.replace('_', ' ')} may not {action}"):
                policy.require(principal, resource, action)
        else:
            policy.require(principal, resource, action)


def test_a_key_has_only_the_current_rights_of_its_owner(principal_of):
    person = principal_of("reviewer")
    admins, operators, owners = (
        Role.objects.get(organization=None, name=name)
        for name in ("organization_admin", "training_operator", "grader_owner")
    )
    keyed = Principal(person.organization, admins, person.user, membership_grants=person.role.permissions)
    assert keyed.grants == {**person.grants, ("listed_graders", "read"): "all"}  # what owners list is open
    both = Principal(person.organization, operators, person.user, membership_grants=person.role.permissions)
    assert policy.reach(both, "tasks", "read") == "organization"
    assert policy.reach(both, "tasks", "create") is None
    assert policy.reach(both, "exports", "read") is None
    assert policy.reach(both, "listed_graders", "read") is not None
    narrow = Principal(person.organization, owners, person.user, membership_grants=admins.permissions)
    assert policy.reach(narrow, "endpoint_graders", "delete") == "own"
    none = Principal(person.organization, owners, person.user, membership_grants=[])
    assert none.grants == {}


COVERED = {
    "grader_owner": {"grader_owner"},
    "training_operator": {"training_operator", "collector"},
    "reviewer": {"reviewer"},
    "organization_admin": set(COLUMNS) - {"admin"},
    "admin": set(COLUMNS),
    "collector": {"collector"},
}


@pytest.mark.parametrize("name", COLUMNS)
def test_roles_that_may_assign_each_built_in_role(principal_of, name):
    principal = principal_of(name, operating=True)
    assert {other for other in COLUMNS if policy.covers(principal, builtin.permissions(other))} == COVERED[name]


def test_scope_all_is_not_granted_outside_the_operating_organization(principal_of):
    everywhere = [{"resource": "tasks", "actions": ["read"], "scope": "all"}]
    assert policy.covers(principal_of("admin", operating=True), everywhere)
    assert not policy.covers(principal_of("admin"), everywhere)
    assert not policy.covers(principal_of("organization_admin"), everywhere)


def test_own_scope_on_a_resource_without_owners_selects_nothing(principal_of):
    entries = [{"resource": resource, "actions": ["read"], "scope": "own"} for resource in builtin.RESOURCES]
    organization = OrganizationFactory()
    principal = principal_of(Role.objects.create(name="mine", organization=organization, permissions=entries))
    for queryset_class in every_subclass(ScopedQuerySet):
        model = MODEL_OF.get(queryset_class.__name__)
        if model is not None:
            assert not queryset_class(model).visible_to(principal).filter(pk=None).exists()


def test_an_unknown_resource_or_action_is_not_allowed(principal_of):
    principal = principal_of("admin", operating=True)
    assert policy.reach(principal, "everything", "read") is None
    assert policy.reach(principal, "tasks", "execute") is None


def test_only_the_operating_organization_has_scope_all(principal_of):
    assert policy.reach(principal_of("admin"), "tasks", "read") == "organization"
    assert policy.reach(principal_of("admin", operating=True), "tasks", "read") == "all"


def test_of_several_permissions_the_widest_counts(principal_of):
    entries = [
        {"resource": "tasks", "actions": ["read"], "scope": scope} for scope in ("own", "organization", "own")
    ] + [{"resource": "tasks", "actions": ["read", "delete"], "scope": "own"}]
    organization = OrganizationFactory()
    principal = principal_of(Role.objects.create(name="mine", organization=organization, permissions=entries))
    assert policy.reach(principal, "tasks", "read") == "organization"
    assert policy.reach(principal, "tasks", "delete") == "own"


MODEL_OF = {
    "OrganizationQuerySet": Organization,
    "MemberQuerySet": Membership,
    "RoleQuerySet": Role,
    "ApiKeyQuerySet": ApiKey,
}


# --- scopes with real rows ------------------------------------------------------------------------------------------


@pytest.fixture
def world(db):
    """Two organizations; in each two people with a grader, a task on it and a score by it."""
    scores = {}
    for where in ("here", "there"):
        organization = OrganizationFactory(name=where)
        for who in ("me", "colleague"):
            user = UserFactory()
            grader = GraderFactory(organization=organization, created_by=user)
            task = TaskFactory(organization=organization, created_by=user, graders=[grader])
            scores[where, who] = ScoreFactory(run__completion__task=task)
    return scores


MODELS = [
    (Task, "tasks", lambda score: score.task),
    (Completion, "completions", lambda score: score.completion),
    (Score, "scores", lambda score: score),
    (WorkflowRun, "workflow_runs", lambda score: score.run),
    (Grader, "endpoint_graders", lambda score: score.grader),
]


@pytest.mark.parametrize(("model", "resource", "part"), MODELS, ids=[model.__name__ for model, *_ in MODELS])
@pytest.mark.parametrize("action", ["read", "update", "delete"])
@pytest.mark.parametrize("operating", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_queryset_keeps_the_rows_of_the_scope(world, principal_of, model, resource, part, action, operating, name):
    mine = world["here", "me"]
    mine.organization.operating = operating
    principal = principal_of(name, mine.organization, user=mine.grader.created_by)
    expected = {
        None: set(),
        "own": {part(mine).pk},
        "organization": {part(world["here", who]).pk for who in ("me", "colleague")},
        "all": {part(score).pk for score in world.values()},
    }
    scope = EXPECTED[name, resource, action]
    scope = "organization" if scope == "all" and not operating else scope
    assert model._default_manager.all().resource == resource
    assert set(model.objects.all().allowed(principal, action).values_list("pk", flat=True)) == expected[scope]
    if action == "read":
        assert set(model.objects.all().visible_to(principal).values_list("pk", flat=True)) == expected[scope]


def test_own_is_by_person_and_ends_at_the_organization(world, principal_of):
    """The same person in another organization sees nothing of what they made in this one."""
    mine = world["here", "me"]
    elsewhere = principal_of("grader_owner", world["there", "me"].organization, user=mine.grader.created_by)
    for model in (Grader, Score, WorkflowRun):
        assert not model.objects.all().visible_to(elsewhere).exists()


def test_own_scores_are_those_of_own_graders_whoever_submitted(world, principal_of):
    """A grader that another organization uses: its owner reads the scores, the user's organization too."""
    mine = world["here", "me"]
    theirs = TaskFactory(organization=world["there", "me"].organization, graders=[mine.grader])
    score = ScoreFactory(run__completion__task=theirs)
    owner = principal_of("grader_owner", mine.organization, user=mine.grader.created_by)
    operator = principal_of("training_operator", theirs.organization)
    assert set(Score.objects.all().visible_to(owner)) == {mine, score}
    assert score in Score.objects.all().visible_to(operator)
    assert mine not in Score.objects.all().visible_to(operator)
    assert not Completion.objects.all().visible_to(owner).exists()


def test_listed_graders_are_read_by_those_roles_that_may_and_changed_by_none(world, principal_of):
    listed = world["there", "me"].grader
    Grader.objects.filter(pk=listed.pk).update(visibility="listed")
    here = world["here", "me"].organization
    readers = {"training_operator", "organization_admin", "admin"}
    for name, sees in [(name, name in readers) for name in COLUMNS]:
        principal = principal_of(name, here)
        assert Grader.objects.all().visible_to(principal).filter(pk=listed.pk).exists() is sees, name
        assert not Grader.objects.all().allowed(principal, "update").filter(pk=listed.pk).exists()


def test_unreadable_objects_are_404_and_read_only_ones_403(world, principal_of):
    mine, foreign = world["here", "me"].grader, world["there", "me"].grader
    reviewer = principal_of("reviewer", mine.organization)
    assert find_for(Grader.objects.all(), reviewer, mine.pk, "read", "grader") == mine
    with pytest.raises(Forbidden, match="may not update this grader"):
        find_for(Grader.objects.all(), reviewer, mine.pk, "update", "grader")
    for pk in (foreign.pk, ids.new()):
        for action in ("read", "update"):
            with pytest.raises(NotFound, match=r"There is no such grader\."):
                find_for(Grader.objects.all(), reviewer, pk, action, "grader")


def test_every_scoped_queryset_names_a_resource_of_the_table():
    resources = {kind.__name__: kind.resource for kind in every_subclass(ScopedQuerySet)}
    assert set(resources.values()) <= set(builtin.RESOURCES), resources
    assert len(resources) >= 8


def test_every_needed_resource_is_offered_and_every_offered_one_is_used():
    """A feature that is added moves its resources out of `builtin.COMING`, and a misspelt resource is found."""
    needed = {operation.resource for _, _, operation in routes() if operation.resource}
    needed |= {resource for page in pages() for resource, _ in page.needs or ()}
    assert needed <= set(builtin.OFFERED)
    assert set(builtin.OFFERED) - needed == {"reasoning"}  # which limits what the readers of scores see


def every_subclass(kind):
    for subclass in kind.__subclasses__():
        if subclass.__module__.startswith(("autotune", "graders", "tasks", "scores", "exports")):
            yield subclass
        yield from every_subclass(subclass)
