"""GET /graders and GET /graders/:id: who sees what of whom."""

import pytest

from tests.factories import GraderFactory

HIDDEN = ("endpoint", "createdBy", "authentication", "version", "limits", "pins", "redaction", "verifiedAt")


def names(answer):
    assert answer.status_code == 200, answer.content
    return [grader["name"] for grader in answer.json()["graders"]]


@pytest.fixture
def listed(db):
    """A listed grader of another organization."""
    return GraderFactory(name="Listed", visibility="listed", domains=["code"], endpoint="https://hidden.example.com")


def test_the_owner_reads_all_of_it(owner, grader, path):
    body = owner.get(path).json()["grader"]
    assert (body["endpoint"], body["version"], body["status"]) == (
        grader.endpoint,
        grader.version.public_id,
        "active",
    )
    assert body["authentication"]["keyId"] == grader.secrets.get().key_id


@pytest.mark.parametrize("role", ["training_operator", "reviewer", "organization_admin"])
def test_the_organization_reads_all_of_it(colleague, grader, path, role):
    assert colleague(role).get(path).json()["grader"]["endpoint"] == grader.endpoint


def test_another_grader_owner_of_the_organization_does_not_see_it(colleague, path):
    other = colleague("grader_owner")
    assert other.get(path).status_code == 404
    assert names(other.get("/graders")) == []


@pytest.mark.parametrize("role", ["grader_owner", "training_operator", "reviewer", "organization_admin", "admin"])
def test_a_stranger_does_not_see_it(api_for, path, role):
    stranger = api_for(role=role)
    assert stranger.get(path).status_code == 404
    assert stranger.get("/graders").json() == {
        "graders": [],
        "pagination": {"limit": 50, "offset": 0, "total": 0, "nextCursor": None, "totalIsLowerBound": False},
    }


def test_the_operating_organization_sees_every_grader(admin_api, grader, path):
    assert admin_api.get(path).json()["grader"]["endpoint"] == grader.endpoint


@pytest.mark.parametrize("role", ["training_operator", "organization_admin"])
def test_a_listed_grader_shows_its_name_and_domains_to_operators_and_administrators_elsewhere(api_for, listed, role):
    operator = api_for(role=role)
    answer = operator.get(f"/graders/{listed.public_id}")
    body = answer.json()["grader"]
    assert (body["name"], body["status"], body["visibility"]) == ("Listed", "active", "listed")
    assert {name: body[name] for name in HIDDEN} == dict.fromkeys(HIDDEN)
    assert body["capabilities"] == {
        "maxBatchSize": None,
        "supportsDimensions": None,
        "supportsExplanations": None,
        "supportsAsync": None,
        "avgLatencyMs": None,
        "domains": ["code"],
    }
    assert "hidden.example.com" not in answer.content.decode()
    assert "hidden.example.com" not in operator.get("/graders").content.decode()


def test_a_private_grader_is_not_searched_from_elsewhere(api_for, grader):
    assert names(api_for(role="training_operator").get("/graders?search=Law")) == []


def test_a_test_key_sees_no_listed_graders(api_for, listed):
    operator = api_for(role="training_operator", kind="test")
    assert operator.get(f"/graders/{listed.public_id}").status_code == 404
    assert names(operator.get("/graders")) == []


def test_a_deleted_listed_grader_is_gone_everywhere(api_for, listed):
    listed.deleted_at = listed.created_at
    listed.save()
    operator = api_for(role="training_operator")
    assert operator.get(f"/graders/{listed.public_id}").status_code == 404
    assert names(operator.get("/graders")) == []


def test_a_malformed_id_is_404(owner):
    for text in ("1", "grader_1", "task_01jd0000000000000000000000", "grader_01JD0000000000000000000000", "%00"):
        assert owner.get(f"/graders/{text}").status_code == 404


def test_without_a_key_it_is_401(owner, path):
    owner.key = None
    assert (owner.get(path).status_code, owner.get("/graders").status_code) == (401, 401)


@pytest.fixture
def several(owner):
    def make(name, **fields):
        return GraderFactory(organization=owner.organization, created_by=owner.user, name=name, **fields)

    make("Beta", description="compilers", domains=["code", 'a"b'], status="inactive")
    make("alpha", description="LAW of the sea", domains=["law"], visibility="listed")
    make("Gamma", domains=["право"], status="degraded")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?sort=createdAt", ["Beta", "alpha", "Gamma"]),
        ("", ["Gamma", "alpha", "Beta"]),
        ("?sort=-updatedAt", ["Gamma", "alpha", "Beta"]),
        ("?sort=createdAt&search=BET", ["Beta"]),
        ("?sort=createdAt&search=law", ["alpha"]),
        ("?search=%25", []),
        ("?search=_", []),
        ("?kind=endpoint&sort=createdAt", ["Beta", "alpha", "Gamma"]),
        ("?kind=rubric", []),
        ("?status=inactive", ["Beta"]),
        ("?status=degraded", ["Gamma"]),
        ("?domain=code", ["Beta"]),
        ("?domain=cod", []),
        ("?domain=a%22b", ["Beta"]),
        ("?domain=%D0%BF%D1%80%D0%B0%D0%B2%D0%BE", ["Gamma"]),
        ("?visibility=listed", ["alpha"]),
        ("?sort=createdAt&limit=1&offset=1", ["alpha"]),
    ],
)
def test_a_list_is_searched_filtered_and_sorted(owner, several, query, expected):
    assert names(owner.get(f"/graders{query}")) == expected


def test_a_list_continues_by_cursor(owner, several):
    seen, query = [], "?sort=name&limit=2"
    while query:
        answer = owner.get(f"/graders{query}")
        seen += names(answer)
        cursor = answer.json()["pagination"]["nextCursor"]
        query = f"?sort=name&limit=2&cursor={cursor}" if cursor else None
    assert sorted(seen) == ["Beta", "Gamma", "alpha"]
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("?stauts=active", "?stauts"),
        ("?status=on", "?status"),
        ("?kind=x", "?kind"),
        ("?sort=owner", "?sort"),
        ("?sort=organization__name", "?sort"),
        ("?owner__password__startswith=p", "?owner__password__startswith"),
        ("?limit=0", "?limit"),
        ("?offset=100001", "?offset"),
        ("?cursor=x", "?cursor"),
        ("?search=%00", "?search"),
        ("?status=active&status=inactive", "?status"),
    ],
)
def test_a_bad_parameter_is_named(owner, query, pointer):
    answer = owner.get(f"/graders{query}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, pointer)


def test_a_list_takes_the_same_queries_for_any_number_of_rows(owner, several, django_assert_num_queries, keys_at_hand):
    owner.get("/graders")
    keys_at_hand()
    with django_assert_num_queries(5):  # key, count, graders, secrets, the event of the audit trail
        owner.get("/graders?limit=3")
