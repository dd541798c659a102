"""GET /tasks: search, filters, order, pages, and a constant number of queries."""

import pytest

from tests.factories import GraderFactory, TaskFactory, public


@pytest.fixture
def api(api_for):
    return api_for(role="reviewer")


@pytest.fixture
def make(api):
    return lambda **fields: TaskFactory(organization=api.organization, **fields)


def names(answer):
    assert answer.status_code == 200, answer.content
    return [task["name"] for task in answer.json()["tasks"]]


def test_a_list_has_whole_tasks_and_a_pagination(api, make):
    task = make()
    answer = api.get("/tasks").json()
    assert answer["pagination"] == {
        "limit": 50,
        "offset": 0,
        "total": 1,
        "nextCursor": None,
        "totalIsLowerBound": False,
    }
    assert answer["tasks"][0]["id"] == task.public_id
    assert answer["tasks"][0]["promptTemplate"] == "{{question}}"


def test_search_covers_name_and_description_case_insensitively(api, make):
    make(name="Sums", description="Arithmetic")
    make(name="Poems", description="100% rhyme")
    assert names(api.get("/tasks?search=SUM")) == ["Sums"]
    assert names(api.get("/tasks?search=rhyme")) == ["Poems"]
    assert names(api.get("/tasks?search=%25")) == ["Poems"]
    assert names(api.get("/tasks?search=_")) == []
    assert len(names(api.get("/tasks?search="))) == 2


def test_the_grader_filter_finds_tasks_with_it_in_the_current_panel(api, make):
    grader_a, grader_b = GraderFactory(organization=api.organization), GraderFactory(organization=api.organization)
    make(name="A", graders=[grader_a])
    make(name="B", graders=[grader_b, (grader_a, 0.0, "shadow")])
    make(name="C", graders=[grader_b])
    assert names(api.get(f"/tasks?graderId={public('grader', grader_a)}&sort=name")) == ["A", "B"]
    assert names(api.get("/tasks?graderId=grader_01jd0000000000000000000000")) == []


def test_a_former_panel_does_not_count(api_for, make, api):
    grader_a, grader_b = GraderFactory(organization=api.organization), GraderFactory(organization=api.organization)
    task = make(graders=[grader_a])
    admin = api_for(organization=api.organization)
    assert admin.patch(f"/tasks/{task.public_id}", {"graderId": public("grader", grader_b)}).status_code == 200
    assert names(api.get(f"/tasks?graderId={public('grader', grader_a)}")) == []
    assert names(api.get(f"/tasks?graderId={public('grader', grader_b)}")) == [task.name]


def test_model_is_the_models_name(api, make):
    make(name="A", model_name="large-1")
    make(name="B", model_name="large-10")
    assert names(api.get("/tasks?model=large-1")) == ["A"]


def test_archived_tasks_are_listed_only_on_request(api, make):
    make(name="Old", archived=True)
    make(name="New")
    assert names(api.get("/tasks")) == ["New"]
    assert names(api.get("/tasks?archived=false")) == ["New"]
    assert names(api.get("/tasks?archived=true")) == ["Old"]


def test_the_newest_comes_first_unless_sorted_otherwise(api, make):
    for name in ("B", "C", "A"):
        make(name=name)
    assert names(api.get("/tasks")) == ["A", "C", "B"]
    assert names(api.get("/tasks?sort=createdAt")) == ["B", "C", "A"]
    assert names(api.get("/tasks?sort=-name")) == ["C", "B", "A"]
    assert names(api.get("/tasks?sort=updatedAt,name")) == ["B", "C", "A"]


@pytest.mark.parametrize("sort", ["name", "-createdAt", "updatedAt"])
def test_pages_by_cursor_show_every_task_once(api, make, sort):
    grader = GraderFactory(organization=api.organization)
    for number in range(7):
        make(name=f"Task {number}", graders=[grader])
    seen, cursor = [], ""
    while True:
        answer = api.get(f"/tasks?limit=3&sort={sort}{cursor}")
        seen += names(answer)
        following = answer.json()["pagination"]["nextCursor"]
        if following is None:
            break
        cursor = f"&cursor={following}"
    assert sorted(seen) == [f"Task {number}" for number in range(7)]
    assert names(api.get(f"/tasks?limit=3&offset=3&sort={sort}")) == seen[3:6]


def test_a_cursor_is_valid_only_for_its_sort_and_organization(api, api_for, make):
    make(), make()
    cursor = api.get("/tasks?limit=1").json()["pagination"]["nextCursor"]
    assert api.get(f"/tasks?sort=name&cursor={cursor}").json()["errors"][0]["code"] == "invalid_cursor"
    assert api_for().get(f"/tasks?cursor={cursor}").json()["errors"][0]["code"] == "invalid_cursor"
    assert api.get(f"/tasks?cursor={cursor[:-2]}xx").status_code == 400


def test_the_number_of_queries_does_not_grow(api, make, django_assert_num_queries, django_capture_on_commit_callbacks):
    def queries(rows):
        with django_capture_on_commit_callbacks(execute=True):  # keys of the organization are opened once and kept
            assert len(names(api.get("/tasks"))) == rows
        with django_assert_num_queries(8):  # the key; count, tasks with versions, members, graders; the event
            api.get("/tasks")

    for _ in range(2):
        make(metadata={"a": 1})
    queries(2)
    for _ in range(20):
        make(metadata={"a": 1}, graders=[GraderFactory(organization=api.organization) for _ in range(3)])
    queries(22)
