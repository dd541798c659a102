"""The demo from the first process to the last line printed."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autotune_sdk import AutotuneClient, AutotuneError

from autotune.site.demo import samples, steps
from autotune.site.local import credentials, databases, kept, launch
from autotune.site.local.console import Progress, table
from autotune.site.local.ports import free_port, listens, port_is_free
from autotune.site.local.supervisor import Supervisor, SupervisorError

ORGANIZATION = "Demo"
ADMIN_EMAIL = "admin@demo.example"
GRADER_FOLDER = launch.ROOT / "examples" / "demo_grader"
GRADER_PORTS = range(9100, 9200)
LIVE_PORTS = range(8001, 8100)
GRADER_TIMEOUT_S = 20.0

Say = Callable[[str], None]


def run(*, once: bool, say: Say) -> None:
    """Start everything, score the samples, show the result; then stay until Ctrl-C unless `once`.

    raises SupervisorError in words that say what to do; KeyboardInterrupt when interrupted before all was shown
    """
    data = launch.data_dir(os.environ)
    folder = data / "demo"
    name = databases.label(os.environ)
    places = steps.Places(folder / f"{name}.json", folder / f"{name}.secret", folder / f"{name}-grader.jsonl")
    grader_port = _grader_port(kept.read(places.state).get("graderPort"))
    port = int(os.environ.get("PORT") or launch.DEFAULT_PORT)
    env = launch.environment(
        os.environ,
        port=port,
        data=data,
        grader_ports=[grader_port],
        live_port=int(os.environ.get("LIVE_PORT") or 0) or free_port(n for n in LIVE_PORTS if n != port),
        hint=f"choose another one: make demo PORT={free_port(launch.SPARE_PORTS)}",
    )
    with Supervisor(data / "logs", say=say) as tree:
        account, is_new = _prepare(env, places, say)
        say("starting web, worker, beat and live")
        address = launch.start_server(tree, env)
        try:
            with AutotuneClient(account["apiKey"], address) as client:
                _score(client, tree, places, grader_port, folder, say)
        except AutotuneError as exc:
            tree.check()  # a process that ended explains it better
            raise SupervisorError(f"The server refused a step of the demo: {exc}") from exc
        details = {**kept.keep(places.state, {"graderPort": grader_port}), **_addresses(env), "database": name}
        kept.replace(data / "demo.json", details)
        with contextlib.suppress(KeyboardInterrupt):  # from the moment at which all is shown, Ctrl-C is a good end
            say(_farewell(details, data, is_new=is_new, once=once))
            if not once:
                tree.watch()
    say("all processes have ended")


def _grader_port(kept_port: object) -> int:
    """The port of last time if it is free: another one would need a new secret."""
    if isinstance(kept_port, int) and port_is_free(kept_port):
        return kept_port
    return free_port(GRADER_PORTS)


def _prepare(env: dict[str, str], places: steps.Places, say: Say) -> tuple[dict[str, Any], bool]:
    if (url := env.get("DATABASE_URL")) and databases.create_if_missing(url):
        say("made the database that DATABASE_URL names")
    say("migrating")
    launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
    return credentials.obtain(env, places.state, organization=ORGANIZATION, admin_email=ADMIN_EMAIL)


def _score(
    client: AutotuneClient, tree: Supervisor, places: steps.Places, grader_port: int, folder: Path, say: Say
) -> None:
    grader_id = steps.register(client, places, f"http://127.0.0.1:{grader_port}")
    say("starting the demo grader, a process whose logic the server never sees")
    tree.start(
        launch.kit_grader(
            "grader",
            "grader:grader",
            folder=GRADER_FOLDER,
            port=grader_port,
            secret_file=places.secret,
            log=places.grader_log,
        )
    )
    tree.wait_for(lambda: listens(grader_port), "the start of the demo grader", GRADER_TIMEOUT_S)
    steps.verify(client, grader_id)
    say("registered and verified it")
    task_id = steps.task(client, places, grader_id)

    rows = samples.load()
    ids, new_count = steps.submit(client, task_id, rows)
    say(f"submitted {new_count} new completions of {len(ids)}")
    statuses = steps.wait(client, ids, alive=tree.check, progress=Progress("scored", len(ids)).show)
    if failed := statuses.get("failed"):
        say(f"{failed} completions failed: they have no score, and the means leave them out")
    means = [
        (model, str(count), "-" if mean is None else f"{mean:.3f}")
        for model, count, mean in steps.means(client, task_id, samples.models(rows))
    ]
    say("\n" + table(("model", "scored", "mean score"), means) + "\n")
    for path, size in steps.export(client, task_id, folder):
        say(f"training data: {_short(path)} ({size:,} bytes)")


def _addresses(env: dict[str, str]) -> dict[str, str]:
    url = f"http://localhost:{env['PORT']}"
    return {"url": url, "api": f"{url}/api/v1", "docs": f"{url}/api/v1/docs", "admin": f"{url}/admin/"}


def _farewell(details: dict[str, Any], data: Path, *, is_new: bool, once: bool) -> str:
    file = _short(data / "demo.json")
    password = details["adminPassword"] if is_new else f"in {file}"
    key = details["apiKey"] if is_new else f"in {file}"
    lines = [
        "",
        f"Autotune    {details['url']}/",
        f"API         {details['api']}  (documentation: {details['docs']})",
        f"API key     {key}",
        f"Admin       {details['admin']}  login {details['adminEmail']}, password {password}",
    ]
    if is_new:
        lines.append(f"            shown this once; kept in {file}, which only you can read")
    lines += [f"Logs        {_short(data / 'logs')}/", ""]
    lines.append("ending all processes" if once else "Ctrl-C ends all processes")
    return "\n".join(lines)


def _short(path: Path) -> str:
    """A path as seen from here, where that is shorter."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
