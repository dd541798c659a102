"""Which tests run on both engines, and which on SQLite only because their end cannot depend on the engine.

A test runs on both if it uses the tests' database, or starts processes with a database of their own. The folders and
files of ONE_ENGINE do, and still prove nothing about it: each has the reason, and what runs on both engines instead.
A single test elsewhere has the mark `one_engine`.
"""

from pathlib import Path, PurePath
from typing import Final

TESTS: Final = Path(__file__).resolve().parents[1]
DATABASES: Final = {"db", "transactional_db", "live_server"}  # the fixtures that bring the tests' database

FORMS: Final = (
    "forms, roles and HTML; tests/pages/test_every_page.py opens every page on both, the API's tests write on both"
)
CLIENT: Final = "the client's side of HTTP; the tests of the API run on both"
PEOPLE: Final = (
    "logins, sessions and second factors, by statements of Django and allauth; the walks over pages log in on both"
)
WIRE: Final = "settled by the web process before a statement; tests/processes/test_server.py runs on both"
INPUT: Final = "refused before a statement"

ONE_ENGINE: Final = {
    "access/accounts": PEOPLE,
    "core/brokers/test_filebroker.py": "the broker of the embedded engine only",
    "core/test_server.py": WIRE,
    "exports/jobs/test_bucket.py": "storage of files in a bucket; the tests of export jobs run on both",
    "hostile/test_connections.py": WIRE,
    "hostile/test_h_http.py": WIRE,
    "oidc": PEOPLE,
    "pages/completions/test_completion_actions.py": FORMS,
    "pages/completions/test_completion_hostile.py": FORMS,
    "pages/completions/test_completion_page.py": FORMS,
    "pages/exports/test_export_new.py": FORMS,
    "pages/exports/test_export_page.py": FORMS,
    "pages/frame/test_before_the_second_factor.py": FORMS,
    "pages/frame/test_frame.py": FORMS,
    "pages/frame/test_navigation.py": FORMS,
    "pages/graders/test_access.py": FORMS,
    "pages/graders/test_asking.py": FORMS,
    "pages/graders/test_registering.py": FORMS,
    "pages/reviews/test_review_decide.py": FORMS,
    "pages/rewards/test_reward_endpoint_pages.py": FORMS,
    "pages/settings": FORMS,
    "pages/tasks/test_form.py": FORMS,
    "pages/tasks/test_removing.py": FORMS,
    "processes/documentation": "examples of the docs, whose reader has the embedded engine; the production block runs on PostgreSQL",
    "processes/pages": "people in browsers; the processes behind the pages run on both in tests/processes",
    "processes/test_command.py": CLIENT,
    "processes/test_proxy.py": WIRE,
    "sdk/against_server": CLIENT,
    "site/admin/test_actions.py": FORMS,
    "site/admin/test_secrets.py": FORMS,
    "tasks/test_bad_input.py": INPUT,
}  # fmt: skip


def uses_a_database(item) -> bool:
    """Whether it uses the database of the tests; a server's own is another."""
    return bool(item.get_closest_marker("django_db") or DATABASES & set(item.fixturenames))


def depends_on_the_engine(item) -> bool:
    """Whether a test could end otherwise on another database or broker. What a browser makes of a page cannot.

    A test that needs PostgreSQL or Redis runs with them, wherever it is.
    """
    marks = {mark.name for mark in item.iter_markers()}
    if marks & {"postgres", "redis"}:
        return True
    if marks & {"pages", "one_engine"} or listed(item.path):
        return False
    return "processes" in marks or uses_a_database(item)


def listed(path: PurePath) -> bool:
    """Whether a file is in ONE_ENGINE, by itself or in a folder."""
    name = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return any(name == entry or name.startswith(f"{entry}/") for entry in ONE_ENGINE)
