#!/usr/bin/env python3
"""Lists the files that one completion enters, from its POST to its row of an export: `make completion-path`.

Runs one scripted completion in this process, on a database of its own (autotune_completion_path, made afresh) and with
bench/stub_grader.py as its grader, and notes each function of the server that is called. A first completion, which is
not noted, fills the caches. Prints a markdown table of each step's files by package.

  completion_path.py --check docs/completion-path.md    fails if the table of that page is another
"""

import argparse, collections, json, os, pathlib, secrets, subprocess, sys, threading, time, urllib.request  # noqa: E401

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
DATABASE = "autotune_completion_path"
LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
PACKAGES = ("autotune", "graders", "tasks", "scores", "exports")
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def prepare():
    """Set up Django on a fresh database."""
    from autotune.site.local import databases

    url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
    databases.create_afresh(url)
    os.environ |= {
        "DATABASE_URL": url,
        "REDIS_URL": "",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "AUTOTUNE_ENCRYPTION_KEYS": f"k1:{secrets.token_hex(32)}",
        "DJANGO_SETTINGS_MODULE": "autotune.settings",
    }
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.DEMAND_SECOND_FACTOR = False
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)


class Files:
    """The server's files whose functions are called, in the order of their first call, by step."""

    def __init__(self):
        self.steps = {}
        self.prefixes = tuple(f"{ROOT / package}/" for package in PACKAGES)

    def note(self, step, action):
        """Run the action, and note the files that its thread and the threads it starts enter."""
        files = self.steps.setdefault(step, {})

        def on_event(frame, event, _argument):
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(self.prefixes) and code.co_name != "<module>":
                files.setdefault(os.path.relpath(code.co_filename, ROOT))

        threading.setprofile(on_event)
        sys.setprofile(on_event)
        try:
            return action()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


class Completion:
    """One completion's way through the server: each step is a method."""

    def __init__(self, port):
        from django.test import Client

        from tests.factories import ApiKeyFactory, GraderFactory, OrganizationFactory, TaskFactory

        organization = OrganizationFactory()
        key = ApiKeyFactory(organization=organization)
        self.grader = GraderFactory(organization=organization, endpoint=f"http://127.0.0.1:{port}", max_batch_size=100)
        self.task_id = TaskFactory(organization=organization, graders=[self.grader]).public_id
        self.client = Client(headers={"Authorization": f"Bearer {key.text}"})
        self.number = 0

    def next(self):
        """Begin another completion."""
        self.number += 1

    def submit(self):
        answer = self.client.post(
            "/api/v1/completions",
            {
                "taskId": self.task_id,
                "modelId": "model-1",
                "prompt": f"What is {self.number} + 2?",
                "response": str(self.number + 2),
            },
            content_type="application/json",
        )
        if answer.status_code != 202:
            raise SystemExit(f"the submission was answered {answer.status_code}: {answer.content[:500]!r}")

    def score(self):
        from scores.engine import drains
        from scores.models import Score

        drains.drain(self.grader.pk)
        if Score.objects.count() != self.number:
            raise SystemExit(f"{Score.objects.count()} scores, expected {self.number}")

    def export(self):
        answer = self.client.get(f"/api/v1/scores/export?taskId={self.task_id}&format=jsonl")
        rows = b"".join(answer.streaming_content).splitlines()
        if len(rows) != self.number:
            raise SystemExit(f"{len(rows)} rows of the export, expected {self.number}")


def measured():
    """The Files of one completion."""
    from autotune.site.local.ports import free_port

    port = free_port(range(9950, 9999))
    stub = subprocess.Popen([sys.executable, ROOT / "bench/stub_grader.py", "--port", str(port)], stdout=-3)
    try:
        from django.test import override_settings

        from autotune.core.outbound.addresses import parse_allow
        from autotune.site.local.ports import listens
        from tests.factories import SECRET

        while not listens(port) and stub.poll() is None:
            time.sleep(0.05)
        body = json.dumps({"secret": SECRET}).encode()
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/control/secret", body, method="POST"))
        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_GRADERS=parse_allow(f"127.0.0.1/32:{port}")):
            completion, files = Completion(port), Files()
            for step in (completion.next, completion.submit, completion.score, completion.export, completion.next):
                step()
            for step in (completion.submit, completion.score, completion.export):
                files.note(step.__name__, step)
    finally:
        stub.terminate()
        stub.wait()
    return files.steps


def table(steps):
    """The markdown table: a row for each step and package."""
    lines = ["| step | package | files |", "| --- | --- | --- |"]
    for step, files in steps.items():
        packages = collections.defaultdict(list)
        for file in files:
            folder, _, name = file.rpartition("/")
            packages[folder].append(name.removesuffix(".py"))
        for folder in sorted(packages):
            lines.append(f"| {step} | `{folder}/` | {', '.join(sorted(packages[folder]))} |")
    all_files = {file for files in steps.values() for file in files}
    counts = ", ".join(f"{step} {len(files)}" for step, files in steps.items())
    lines += ["", f"{len(all_files)} files in all: {counts}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", type=pathlib.Path, help="a page whose table must be the same")
    parser.add_argument("--write", type=pathlib.Path, help="a page whose table is replaced")
    a = parser.parse_args()
    prepare()
    text = table(measured())
    page = a.check or a.write
    if page is None:
        print(text)
        return 0
    before, _, rest = page.read_text().partition(BEGIN)
    expected = f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"
    if a.write:
        page.write_text(expected)
    elif page.read_text() != expected:
        print(f"the table of {page} is another; run {pathlib.Path(__file__).name} --write {page}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
