"""Run the demo, from the start of its processes to the printed results."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autotune_sdk import AutotuneClient, AutotuneError

from autotune.site.demo import samples, steps
from autotune.site.local import credentials, databases, kept, launch
from autotune.site.local.console import ProgressBar, table
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
    """Start everything, score the samples and show the result; then run until Ctrl-C, unless `once`.

    raises SupervisorError with a message that says what to do; KeyboardInterrupt if interrupted before the results
    """
    data = launch.data_dir(os.environ)
    folder = data / "demo"
    name = databases.label(os.environ)
    places = steps.DemoFiles(folder / f"{name}.json", folder / f"{name}.secret", folder / f"{name}-grader.jsonl")
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
            tree.check()  # if a process has ended, its log explains the error better
            raise SupervisorError(f"The server rejected a step of the demo: {exc}") from exc
        details = {**kept.keep(places.state, {"graderPort": grader_port}), **_addresses(env), "database": name}
        kept.replace(data / "demo.json", details)
        with contextlib.suppress(KeyboardInterrupt):  # once the results are shown, Ctrl-C is the normal end
            say(_farewell(details, data, is_new=is_new, once=once))
            if not once:
                tree.watch()
    say("all processes have ended")


def _grader_port(kept_port: object) -> int:
    """Return the port of the last run if it is free: another one would need a new secret."""
    if isinstance(kept_port, int) and port_is_free(kept_port):
        return kept_port
    return free_port(GRADER_PORTS)


def _prepare(env: dict[str, str], places: steps.DemoFiles, say: Say) -> tuple[dict[str, Any], bool]:
    if (url := env.get("DATABASE_URL")) and databases.create_if_missing(url):
        say("created the database that DATABASE_URL names")
    say("migrating the database")
    launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
    return credentials.obtain(env, places.state, organization=ORGANIZATION, admin_email=ADMIN_EMAIL)


def _score(
    client: AutotuneClient, tree: Supervisor, places: steps.DemoFiles, grader_port: int, folder: Path, say: Say
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
    say("registered and verified the demo grader")
    task_id = steps.task(client, places, grader_id)

    rows = samples.load()
    ids, new_count = steps.submit(client, task_id, rows)
    say(f"submitted {new_count} new completions of {len(ids)}")
    statuses = steps.wait(client, ids, alive=tree.check, progress=ProgressBar("scored", len(ids)).show)
    if failed := statuses.get("failed"):
        say(f"{failed} completions failed: they have no score and do not count in the means")
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
        lines.append(f"            shown only this once; stored in {file}, which only you can read")
    lines += [f"Logs        {_short(data / 'logs')}/", ""]
    lines.append("ending all processes" if once else "Ctrl-C ends all processes")
    return "\n".join(lines)


def _short(path: Path) -> str:
    """Return the path relative to the current directory if it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
