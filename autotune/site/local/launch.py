"""Start the server on this machine as one process tree, for the demo, the examples and the benchmark.

Every process gets an environment that this module builds, so the caller needs no Django settings.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autotune.environment import kept_secret
from autotune.site.local.ports import LOOPBACK, answers, free_port, require_port
from autotune.site.local.supervisor import SupervisedProcess, Supervisor, SupervisorError

ROOT = Path(__file__).resolve().parents[3]
DEFAULT_PORT = 8000
SPARE_PORTS = range(8100, 8200)  # proposed if a port is taken; the process `live` uses none of them
READY_PATH = "/api/v1/ready"
HEALTH_PATH = "/api/v1/health"
READY_TIMEOUT_S = 60.0
LINES_SHOWN = 12
GENERATED_SECRETS = ("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS")


class CommandFailed(SupervisorError):
    """A `manage.py` command ended with an error; the text holds the last lines that it printed."""


def data_dir(base: Mapping[str, str], default: str = "var") -> Path:
    return (ROOT / (base.get("AUTOTUNE_DATA_DIR") or default)).resolve()


def environment(
    base: Mapping[str, str],
    *,
    port: int,
    data: Path,
    grader_ports: Iterable[int],
    webhook_ports: Iterable[int] = (),
    live_port: int | None = None,
    hint: str = "",
) -> dict[str, str]:
    """Return the environment of a server that listens only on loopback and may call graders and webhooks there.

    live_port  port of the process `live`, which answers reward endpoints; None: web answers them
    raises     PortInUse if `port` is taken; `hint` says how to choose another
    """
    require_port(port, hint=hint or f"choose another one: PORT={free_port(SPARE_PORTS)}")
    data.mkdir(parents=True, exist_ok=True)
    grader_entries = base.get("AUTOTUNE_OUTBOUND_ALLOW_GRADERS") or base.get("AUTOTUNE_OUTBOUND_ALLOW", "")
    gunicorn = f"--bind {LOOPBACK}:{port} --graceful-timeout 5 {base.get('GUNICORN_CMD_ARGS', '')}"
    hosts = ["localhost", LOOPBACK, "[::1]", *filter(None, base.get("ALLOWED_HOSTS", "").split(","))]
    return {
        **base,
        **secret_files(base, data),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), base.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",
        "PORT": str(port),
        "LIVE_PORT": str(live_port or ""),
        "LIVE_HOST": LOOPBACK,
        "AUTOTUNE_LIVE_URL": f"http://localhost:{live_port}" if live_port else "",
        "ALLOWED_HOSTS": ",".join(hosts),
        "AUTOTUNE_DATA_DIR": str(data),
        "AUTOTUNE_PUBLIC_URL": f"http://localhost:{port}",
        "AUTOTUNE_OUTBOUND_ALLOW_GRADERS": _with_ports(grader_entries, grader_ports),
        "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS": _with_ports(
            base.get("AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS", ""), webhook_ports
        ),
        "GUNICORN_CMD_ARGS": gunicorn.strip(),
    }


def _with_ports(entries: str, ports: Iterable[int]) -> str:
    """Add an entry for each of these loopback ports to a list of allowances."""
    return ",".join(filter(None, [entries, *(f"{LOOPBACK}/32:{port}" for port in ports)]))


def secret_files(base: Mapping[str, str], data: Path) -> dict[str, str]:
    """Return NAME_FILE for each secret that is not set. Each is created once, in `data` with mode 0600."""
    missing = [name for name in GENERATED_SECRETS if not (base.get(name) or base.get(f"{name}_FILE"))]
    for name in missing:
        kept_secret(name, data_dir=data, required=False, hint="")
    return {f"{name}_FILE": str(data / name.lower()) for name in missing}


def manage(env: Mapping[str, str], *arguments: str) -> str:
    """Run a `manage.py` command, and return what it prints.

    raises CommandFailed if its exit status is not 0
    """
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env=dict(env),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-LINES_SHOWN:]
        raise CommandFailed("\n".join([f"manage.py {arguments[0]} failed:", *last]))
    return done.stdout


def bootstrap(env: Mapping[str, str], organization: str, admin_email: str) -> dict[str, str | None]:
    """Create an organization, and return {organizationId, adminEmail, adminPassword, apiKey}.

    The last two are null if the organization exists already.
    """
    printed = manage(env, "bootstrap", "--organization", organization, "--admin-email", admin_email, "--json")
    return json.loads(printed.strip().splitlines()[-1])


def procfile(text: str) -> dict[str, str]:
    """Return {process name: shell command} of a Procfile."""
    lines = (re.match(r"([A-Za-z0-9_-]+):\s*(\S.*)$", line) for line in text.splitlines())
    return {match[1]: match[2] for match in lines if match}


def server_processes(env: Mapping[str, str], *, workers: int = 1) -> list[SupervisedProcess]:
    """Return the Procfile's web, beat and `workers` workers, and live if the environment has a port for it."""
    commands = procfile((ROOT / "Procfile").read_text(encoding="utf-8"))
    names = ["web", *(["worker"] if workers == 1 else [f"worker-{n}" for n in range(1, workers + 1)]), "beat"]
    if env.get("LIVE_PORT"):
        names.append("live")
    return [
        SupervisedProcess(name, ("/bin/sh", "-c", f"exec {commands[name.partition('-')[0]]}"), env=env, cwd=ROOT)
        for name in names
    ]


def start_server(tree: Supervisor, env: Mapping[str, str], *, workers: int = 1) -> str:
    """Start the processes of `server_processes`, wait until the server is ready, and return its address.

    raises SupervisorError if it does not start
    """
    for process in server_processes(env, workers=workers):
        tree.start(process)
    port = int(env["PORT"])
    tree.wait_for(lambda: answers(port, READY_PATH), "the start of the server", READY_TIMEOUT_S)
    if live_port := env.get("LIVE_PORT"):
        tree.wait_for(lambda: answers(int(live_port), HEALTH_PATH), "the start of live", READY_TIMEOUT_S)
    return f"http://{LOOPBACK}:{port}"


def kit_grader(
    name: str, target: str, *, folder: Path, port: int, secret_file: Path, log: Path, options: Sequence[str] = ()
) -> SupervisedProcess:
    """Return the process of a grader in `folder` (`module:grader`), served by the published grader kit."""
    command = (
        *(sys.executable, "-m", "autotune_sdk.grader", target, "--host", LOOPBACK, "--port", str(port)),
        *("--secret-file", str(secret_file), "--log", str(log), *options),
    )
    return SupervisedProcess(name, command, env={"PYTHONUNBUFFERED": "1"}, cwd=folder)
