"""The OpenAPI document against the server: `make contract`, with `--short` for CI.

Starts the web process as the Procfile does, makes an organization for each built-in role, and lets schemathesis ask
every operation as each of them and as nobody: no 5xx, no answer that the document does not have. Schemathesis has an
environment of its own (requirements-contract.txt), since it would pull its libraries into the server's.
"""

import argparse
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance"
)  # `ignored_auth` would be throttled by address; tests/api/test_conventions.py asks each operation without a key
NOBODY = "nobody"
PATIENCE_S = 1_200


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="few examples of each operation")
    parser.add_argument("--examples", type=int, help="of each operation and role (default 50, short 2)")
    parser.add_argument("--role", action="append", help="only these roles")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemathesis", default=str(ROOT / ".venv-contract/bin/schemathesis"))
    options = parser.parse_args()
    options.schemathesis = str(Path(options.schemathesis).absolute())  # it is run from another folder
    options.examples = options.examples or (2 if options.short else 50)
    return options


def ask(role, world, *, url, options):
    """(role, exit status, what schemathesis printed) of one caller's run."""
    command = [
        options.schemathesis, "run", f"{url}/api/v1/schema", "--url", url, "--checks", CHECKS,
        "--phases", "examples,coverage,fuzzing" if not options.short else "examples,fuzzing",
        "--max-examples", str(options.examples), "--seed", str(options.seed),
        "--continue-on-failure", "--no-color", "--request-timeout", "60", "--suppress-health-check", "all",
        "--exclude-path-regex", "/schema$|/docs$", "--generation-deterministic",
    ]  # fmt: skip
    if role != NOBODY:
        command += ["--header", f"Authorization: Bearer {world['key']}"]
    env = {
        **os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "PYTHONHASHSEED": "0",
        "CONTRACT_IDS": json.dumps(world["ids"]),
    }  # fmt: skip
    done = subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return role, done.returncode, done.stdout + done.stderr


@contextlib.contextmanager
def served():
    """(address, worlds by role) of a web process with a database of its own."""
    from autotune.site.local import launch
    from autotune.site.local.ports import answers
    from autotune.site.local.supervisor import Supervisor
    from tests.support.fakes import FakeGrader, serving
    from tests.support.serving import free_port, own_environment

    with tempfile.TemporaryDirectory(prefix="contract") as folder, serving(FakeGrader()) as grader:
        data = Path(folder)
        with own_environment(data) as base, Supervisor(data / "logs") as tree:
            base["AUTOTUNE_KEY_RATE_PER_MINUTE"] = "0"
            env = launch.environment(base, port=free_port(), data=data, grader_ports=[grader.port])
            setup = subprocess.run(
                [sys.executable, "-m", "tests.contract.world", grader.url],
                env=env, cwd=ROOT, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if setup.returncode:
                sys.exit(setup.stderr)
            for process in launch.server_processes(env):
                if process.name != "beat":  # without a worker, `/moving` would rightly answer 503
                    tree.start(process)
            for path in (launch.READY_PATH, "/api/v1/moving"):
                tree.wait_for(lambda path=path: answers(int(env["PORT"]), path), f"{path} to answer 200", 90)
            yield f"http://127.0.0.1:{env['PORT']}", json.loads(setup.stdout.splitlines()[-1]), tree.log_of("web")


def main():
    options = arguments()
    began, failed = time.monotonic(), []
    with served() as (url, worlds, log):
        callers = {**worlds, NOBODY: {"ids": worlds["admin"]["ids"]}}
        chosen = {role: world for role, world in callers.items() if not options.role or role in options.role}
        with ThreadPoolExecutor(2) as pool:
            for role, status, printed in pool.map(
                lambda caller: ask(*caller, url=url, options=options), chosen.items()
            ):
                print(f"== {role}: {'passed' if status == 0 else 'FAILED'} ({time.monotonic() - began:.0f} s)")
                if status:
                    failed.append(role)
                    print(printed)
        if failed:
            print(
                "".join(
                    f"web | {line}\n" for line in log.read_text().splitlines() if "Traceback" in line or "ERROR" in line
                )
            )
    if failed:
        sys.exit(f"failed as {', '.join(failed)}")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))  # with DATABASE_URL the settings ask for both
    os.environ.setdefault("AUTOTUNE_ENCRYPTION_KEYS", f"k1:{secrets.token_hex(32)}")
    import django

    django.setup()
    main()
