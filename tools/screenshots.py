"""Pictures of every page at 1440 and 390 px, light and dark, with data of an organization at work: `make screenshots`.

Starts a server of its own on SQLite in a folder that goes afterwards. Writes PNGs to var/screenshots (--to), one for
each page, width and scheme, and an index.html that shows them beside each other.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
WIDTHS = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
EMAIL = "ada@meridian.example"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def main() -> int:
    """Exit status 1 if a page answered 500."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / "var/screenshots")
    parser.add_argument(
        "--only", default="", help="pages whose path holds this or, after =, is this; several by commas"
    )
    parser.add_argument("--scores", type=int, default=6_000)
    parser.add_argument("--whole", action="store_true", help="the whole height of each page")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autotune-screenshots-") as folder:
        return picture(chosen, Path(folder))


def picture(chosen: argparse.Namespace, folder: Path) -> int:
    """Start, fill, look."""
    from autotune.site import launch
    from autotune.site.ports import free_port
    from autotune.site.supervisor import Supervisor

    base = {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", "AUTOTUNE_DATA_DIR": str(folder)}
    port = free_port(range(8300, 8400))
    env = launch.environment(base, port=port, data=folder, grader_ports=[])
    with Supervisor(folder / "logs") as tree:
        launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
        os.environ.update(env)
        session, ids, paths = fill(chosen)
        for process in launch.server_processes(env):
            if process.name == "web":
                tree.start(process)
        from autotune.site.ports import answers

        tree.wait_for(lambda: answers(port, launch.HEALTH_PATH), "the start of the server", 60)
        return look(chosen, f"http://localhost:{port}", session, ids, paths)


def fill(chosen: argparse.Namespace) -> tuple[tuple[str, str], dict[str, str], list[Any]]:
    """(session cookie), ids of each kind, pages."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client

    from autotune.access.models import Membership, Organization, Role, User
    from bench import crowd
    from tools.page_routes import readable

    organization = Organization.objects.create(name="Meridian Labs")
    owner = User.objects.create(email=EMAIL, name="Ada Byron")
    role = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=organization, user=owner, role=role)
    crowd.fill(organization, owner, chosen.scores)
    crowd.furnish(organization, owner)
    client = Client()
    client.force_login(owner)
    cookie = (settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value)
    return cookie, crowd.ids_of(organization), readable()


def look(
    chosen: argparse.Namespace, address: str, session: tuple[str, str], ids: dict[str, str], paths: list[Any]
) -> int:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    chosen.to.mkdir(parents=True, exist_ok=True)
    failed, shown = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=FLAGS
        )
        for width, viewport in WIDTHS.items():
            for scheme in SCHEMES:
                context = browser.new_context(viewport=viewport, color_scheme=scheme, base_url=address)  # type: ignore[arg-type]
                context.add_cookies([{"name": session[0], "value": session[1], "url": address}])
                tab = context.new_page()
                for page in paths:
                    if not wanted(page.path, chosen.only) or any(kind not in ids for kind in page.kinds):
                        continue
                    answer = tab.goto(page.address(ids))
                    if answer is None or "text/html" not in answer.headers.get("content-type", ""):
                        continue
                    tab.wait_for_load_state("networkidle")
                    name = (page.path.strip("/").replace("/", "-").replace(":", "") or "overview").lower()
                    tab.screenshot(path=chosen.to / f"{name}.{width}.{scheme}.png", full_page=chosen.whole)
                    shown.append(f"{name}.{width}.{scheme}.png")
                    if answer.status >= 500:
                        failed.append(page.path)
                context.close()
        browser.close()
    index(chosen.to, shown)
    print(f"{len(shown)} pictures in {chosen.to}" + (f"; answered 500: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def wanted(path: str, only: str) -> bool:
    """Whether a page is asked for; texts that are downloaded are no pages."""
    asked = [part[1:] == path if part.startswith("=") else part in path for part in only.split(",")]
    return not path.endswith(":str") and any(asked)


def index(folder: Path, names: list[str]) -> None:
    """A page that shows them by page, each linked to its file."""
    rows = "".join(
        f'<a href="{name}"><figure><img src="{name}" loading="lazy" alt=""><figcaption>{name}</figcaption></figure></a>'
        for name in sorted(set(names))
    )
    style = "body{display:flex;flex-wrap:wrap;gap:1rem;font:13px sans-serif}figure{margin:0}img{height:320px}"
    (folder / "index.html").write_text(f"<!doctype html><title>Pages</title><style>{style}</style>{rows}")


if __name__ == "__main__":
    sys.exit(main())
