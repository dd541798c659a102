"""Take screenshots of every page at 1440 and 390 px, light and dark, with sample data: `make screenshots`.

It starts its own server on SQLite in a temporary folder. It writes PNGs to var/screenshots (--to), one for
each page, width and scheme, and an index.html that shows them beside each other.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
WIDTHS = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
EMAIL = "ada@meridian.example"


def main() -> int:
    """Take the screenshots; return exit status 1 if a page returned a 500."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / "var/screenshots")
    parser.add_argument(
        "--only", default="", help="only pictures whose name contains this or, after =, equals this; separate by commas"
    )
    parser.add_argument("--scores", type=int, default=6_000)
    parser.add_argument("--whole", action="store_true", help="capture the whole height of each page")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autotune-screenshots-") as folder:
        return picture(chosen, Path(folder))


def picture(chosen: argparse.Namespace, folder: Path) -> int:
    """Start a server, fill it with data, and take the screenshots."""
    from autotune.site.local import launch
    from autotune.site.local.ports import free_port
    from autotune.site.local.supervisor import Supervisor

    base = {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", "AUTOTUNE_DATA_DIR": str(folder)}
    port = free_port(range(8300, 8400))
    env = launch.environment(base, port=port, data=folder, grader_ports=[])
    with Supervisor(folder / "logs") as tree:
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        os.environ.update(env)
        world = fill(chosen)
        for process in launch.server_processes(env):
            if process.name == "web":
                tree.start(process)
        from autotune.site.local.ports import answers

        tree.wait_for(lambda: answers(port, launch.HEALTH_PATH), "the start of the server", 60)
        return capture(chosen, f"http://localhost:{port}", world)


@dataclass(frozen=True, slots=True)
class World:
    """The world to take screenshots of.

    cookies  session cookies by person; "" is nobody
    shots    name of the picture -> (person, address)
    """

    cookies: dict[str, tuple[str, str] | None]
    shots: dict[str, tuple[str, str]]


def fill(chosen: argparse.Namespace) -> World:
    """Create an organization with people and data in the server's database."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    import django

    django.setup()
    from autotune.access.models import Membership, Organization, Role, User
    from autotune.access.principal import Principal
    from bench import crowd
    from exports.requests import ExportQuery
    from exports.work import asking, running
    from scores.results.filters import TaskRef
    from tasks import filling

    def person(organization: Any, email: str, name: str, role: str, **facts: Any) -> Any:
        user = User.objects.create(email=email, name=name, **facts)
        role_row = Role.objects.get(organization=None, name=role)
        Membership.objects.create(organization=organization, user=user, role=role_row)
        return Principal(organization, role_row, user)

    organization = Organization.objects.create(name="Meridian Labs")
    house = Organization.objects.create(name="Autotune", operating=True)
    admin = person(organization, EMAIL, "Ada Byron", "organization_admin")
    people = {
        "": None,
        "admin": admin.user,
        "operator": person(organization, "sofia@meridian.example", "Sofia Kovalevskaya", "training_operator").user,
        "house": person(house, "root@autotune.example", "Root", "admin", is_staff=True, is_superuser=True).user,
    }
    objects = crowd.fill(organization, admin.user, chosen.scores)
    filling.work(budget_s=60)
    objects["export"] = asking.ask(ExportQuery(task_id=TaskRef(objects["tasks"][0].pk), format="parquet"), admin)
    running.work()
    crowd.furnish(organization, admin.user)
    return World({who: cookie(user) if user else None for who, user in people.items()}, shots(organization, objects))


def cookie(user: Any) -> tuple[str, str]:
    """Return the cookie (name, value) of a new session of a person."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    return settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value


def shots(organization: Any, objects: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return every page, with the query that fills it if one is needed, and pages that the route list leaves out."""
    from bench import crowd
    from tools.page_routes import readable

    ids = crowd.ids_of(organization)
    page_shots = {
        name_of(page.path): ("admin", page.address(ids))
        for page in readable()
        if not page.path.endswith(":str") and all(kind in ids for kind in page.kinds)
    }
    task = objects["tasks"][0]
    old, new = (version.public_id for version in task.versions.order_by("pk"))
    a, b = (
        completion.public_id for completion in task.completions.filter(reward__value__isnull=False).order_by("-pk")[1:3]
    )
    return page_shots | {
        "completions-compare": ("admin", f"/completions/compare?a={a}&b={b}"),
        "completions-compare-words": ("admin", f"/completions/compare?a={a}&b={b}&diff=words"),
        "exports-exp-completed": ("admin", f"/exports/{objects['export'].public_id}"),
        "marketplace": ("operator", "/marketplace"),
        "overview-operator": ("operator", "/"),
        "pairs": ("admin", f"/pairs?taskId={task.public_id}"),
        "workflow-runs-retry": ("admin", "/workflow-runs/retry?code=timeout"),
        "workflow-runs-run-failed": ("admin", f"/workflow-runs/{failed_run(task)}"),
        "scores-chosen": ("admin", "/scores?minScore=0.2&maxScore=0.5"),
        "search": ("admin", "/search?q=re"),
        "tasks-task-versions-taskv-diff-taskv": ("admin", f"/tasks/{task.public_id}/versions/{old}/diff/{new}"),
        "account": ("admin", "/account"),
        "account-password": ("admin", "/account/password"),
        "account-second-factor": ("admin", "/account/second-factor/on"),
        "account-login": ("", "/account/login"),
        "account-password-forgotten": ("", "/account/password/forgotten"),
        "account-password-sent": ("", "/account/password/sent"),
        "account-password-done": ("", "/account/password/done"),
        "not-found": ("admin", "/graders/grader_0"),
        "api-reference": ("admin", "/api/v1/docs"),
        "api-reference-open": ("", "/api/v1/docs"),
        "home": ("", "/"),
        "admin": ("house", "/admin/"),
        "admin-grader": ("house", "/admin/graders/grader/"),
        "admin-workflowrun": ("house", "/admin/scores/workflowrun/"),
        "admin-completion": ("house", "/admin/tasks/completion/"),
        "admin-score": ("house", "/admin/scores/score/"),
        "admin-task-change": ("house", f"/admin/tasks/task/{task.pk}/change/"),
        "admin-user": ("house", "/admin/access/user/"),
        "admin-auditevent": ("house", "/admin/access/auditevent/"),
    }  # fmt: skip


def failed_run(task: Any) -> str:
    """Return the id of a run of the task whose page shows the evidence of a failed attempt."""
    from scores.models import WorkflowRun

    return WorkflowRun.objects.filter(task=task, status="failed").order_by("-pk")[0].public_id


def name_of(path: str) -> str:
    """Return a file name for a route such as `/tasks/:task/edit`."""
    return (path.strip("/").replace("/", "-").replace(":", "") or "overview").lower()


def capture(chosen: argparse.Namespace, address: str, world: World) -> int:
    """Write the screenshots."""
    from playwright.sync_api import sync_playwright

    from tests.support import browsing

    chosen.to.mkdir(parents=True, exist_ok=True)
    failed, pictures = [], []
    with sync_playwright() as playwright:
        browser = browsing.launched(playwright, browsing.installed())
        for width, viewport in WIDTHS.items():
            for scheme in SCHEMES:
                tabs = {}
                for who, session in world.cookies.items():
                    context = browser.new_context(viewport=viewport, color_scheme=scheme, base_url=address)  # type: ignore[arg-type]
                    if session:
                        context.add_cookies([{"name": session[0], "value": session[1], "url": address}])
                    tabs[who] = context.new_page()
                for name, (who, path) in world.shots.items():
                    if not is_selected(name, chosen.only):
                        continue
                    answer = tabs[who].goto(path)
                    if answer is None or "text/html" not in answer.headers.get("content-type", ""):
                        continue
                    tabs[who].wait_for_load_state("networkidle")
                    tabs[who].screenshot(path=chosen.to / f"{name}.{width}.{scheme}.png", full_page=chosen.whole)
                    pictures.append(f"{name}.{width}.{scheme}.png")
                    if answer.status >= 500:
                        failed.append(path)
                for tab in tabs.values():
                    tab.context.close()
        browser.close()
    index(chosen.to, pictures)
    print(f"{len(pictures)} pictures in {chosen.to}" + (f"; answered 500: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def is_selected(name: str, only: str) -> bool:
    """Return whether --only selects a picture."""
    return any(part[1:] == name if part.startswith("=") else part in name for part in only.split(","))


def index(folder: Path, names: list[str]) -> None:
    """Build an HTML page that shows the screenshots, each linked to its file."""
    rows = "".join(
        f'<a href="{name}"><figure><img src="{name}" loading="lazy" alt=""><figcaption>{name}</figcaption></figure></a>'
        for name in sorted(set(names))
    )
    style = "body{display:flex;flex-wrap:wrap;gap:1rem;font:13px sans-serif}figure{margin:0}img{height:320px}"
    (folder / "index.html").write_text(f"<!doctype html><title>Pages</title><style>{style}</style>{rows}")


if __name__ == "__main__":
    sys.exit(main())
