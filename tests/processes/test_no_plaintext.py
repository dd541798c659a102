"""What customers and graders wrote, and every secret, is in no dump, no log at DEBUG, no message in Redis and no file.

Markers are planted in every text that somebody can send to a server of real processes. Then everything that it leaves
behind is searched for them: as they are, in the hexadecimal digits of a dump's bytea, and in base64.
"""

import base64
import json
import re
import subprocess
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
from autotune_sdk.grader import CannotJudge
from autotune_sdk.grader import Grader as KitGrader
from autotune_sdk.grader.server import GraderServer

from autotune.site.local import launch
from autotune.site.local.supervisor import SupervisedProcess, Supervisor
from bench.faults.servers import Redis, program
from exports.files.folder import IDENTITY
from tests.access.accounts.people import PASSWORD, code_of
from tests.support.concurrency import until
from tests.support.receiving import Receiver, receiving
from tests.support.serving import free_port, own_environment

pytestmark = [pytest.mark.processes, pytest.mark.postgres, pytest.mark.timeout(400)]
PATIENCE_S = 90
TEXTS = (
    "prompt", "response", "message", "metadatakey", "metadatavalue", "systemprompt", "template", "schema", "taskmetadata",
    "reasoning", "gradererror", "callbackerror", "endpointanswer", "explanation", "onceprompt", "refusedbody",
    "liveprompt", "liveresponse", "livemetadata", "webhookaddress", "holdreason",
)  # fmt: skip
MARK = {name: f"MARK{name}{len(name):02d}zq" for name in TEXTS}


class Platform:
    """A client of the server's API. `responses` are the bodies of all its responses."""

    def __init__(self, address, key):
        self.address, self.key, self.session, self.responses = address, key, requests.Session(), []

    def call(self, method, path, body=None, *, expect=None, **headers):
        headers = {"Authorization": f"Bearer {self.key}"} | {name.replace("_", "-"): v for name, v in headers.items()}
        answer = self.session.request(method, f"{self.address}/api/v1{path}", json=body, headers=headers, timeout=30)
        self.responses.append(answer.text)
        assert expect is None or answer.status_code == expect, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else {}

    def wait(self, completion, status):
        return until(
            lambda: (
                (shown := self.call("GET", f"/completions/{completion}", expect=200)["completion"])["status"] in status
                and shown
            ),
            seconds=PATIENCE_S,
            every_s=0.1,
        )


@contextmanager
def started(folder):
    """Web, worker and beat at DEBUG, on a database and a Redis of their own; every command to Redis is logged."""
    data, mails, receiver = folder / "data", folder / "mails", Receiver()
    receiver.answer = lambda request: (200, MARK["endpointanswer"].encode())
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        stack.enter_context(receiving(receiver))
        base = stack.enter_context(own_environment(data))
        redis = Redis(folder, free_port())
        redis.start()
        stack.callback(redis.end)
        monitor_log = stack.enter_context((folder / "monitor").open("wb"))
        monitor = subprocess.Popen(["redis-cli", "-p", str(redis.port), "monitor"], stdout=monitor_log)
        stack.callback(monitor.wait)
        stack.callback(monitor.terminate)
        base |= {
            "REDIS_URL": redis.url, "LOG_LEVEL": "DEBUG", "AUTOTUNE_EMAIL_URL": f"filemail:///{mails}",
            "GUNICORN_CMD_ARGS": "--log-level debug", "WEB_WORKERS": "1",
        }  # fmt: skip
        tree = stack.enter_context(Supervisor(folder / "logs"))
        env = launch.environment(base, port=free_port(), data=data, grader_ports=ports, webhook_ports=[receiver.port])
        bootstrap = launch.bootstrap(env, "Tests", "admin@example.org")
        for process in launch.server_processes(env):
            command = tuple(part.replace("--loglevel INFO", "--loglevel DEBUG") for part in process.command)
            tree.start(SupervisedProcess(process.name, command, env=process.env, cwd=process.cwd))
        address = f"http://127.0.0.1:{env['PORT']}"
        tree.wait_for(lambda: launch.answers(int(env["PORT"]), launch.READY_PATH), "the server", PATIENCE_S)
        platform = Platform(address, bootstrap["apiKey"])
        yield SimpleNamespace(
            platform=platform, ports=ports, receiver=receiver, env=env, bootstrap=bootstrap, tree=tree, redis=redis,
            folder=folder, mails=mails, data=data,
        )  # fmt: skip


@contextmanager
def grader(server, port, **more):
    """A registered grader of the kit: (its id, its secret, itself)."""
    body = {"name": f"Grader {port}", "endpoint": f"http://127.0.0.1:{port}", "capabilities": more}
    registration = server.platform.call("POST", "/graders", body, expect=201)
    kit = KitGrader("Marker", "1.0.0", max_batch_size=1, supports_explanations=True,
                    secret=registration["credentials"]["sharedSecret"])  # fmt: skip
    kept = []
    kit.score_batch(lambda completions: [judged(completion) for completion in completions])
    if more.get("supportsAsync"):
        kit.later(kept.append)  # only verification wants an answer at once
    with GraderServer(kit, "127.0.0.1", port) as serving:
        threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        grader_id = registration["grader"]["id"]
        assert server.platform.call("POST", f"/graders/{grader_id}/verify", {}, expect=200)["verified"]
        yield SimpleNamespace(id=grader_id, secret=registration["credentials"]["sharedSecret"], kit=kit, kept=kept)
        serving.shutdown()


def judged(completion):
    if "cannot" in completion.response:
        return CannotJudge(MARK["gradererror"])
    return 0.25, 0.1, MARK["reasoning"]


def plant(server, sync, later):
    """Send every marker; the secrets that came to be on the way."""
    call = server.platform.call
    webhook = call("POST", "/webhooks", {"url": f"{server.receiver.url}/{MARK['webhookaddress']}",
                                         "events": ["score.completed", "score.failed"]}, expect=201)  # fmt: skip
    task = call(
        "POST",
        "/tasks",
        {
            "name": "plain", "graderId": sync.id, "promptTemplate": MARK["template"] + " {{prompt}}",
            "systemPrompt": MARK["systemprompt"], "metadata": {"k": MARK["taskmetadata"]},
            "responseSchema": {"type": "string", "description": MARK["schema"]},
        },
        expect=201,
    )["id"]  # fmt: skip
    doubtful = call("POST", "/tasks", {"name": "reviewed", "graderId": sync.id, "promptTemplate": "{{prompt}}",
                                       "review": {"belowConfidence": 0.5}}, expect=201)["id"]  # fmt: skip
    slow = call("POST", "/tasks", {"name": "slow", "graderId": later.id, "promptTemplate": "{{prompt}}"}, expect=201)[
        "id"
    ]

    def submit(task_id, **body):
        sent = {"taskId": task_id, "modelId": "m", "prompt": "p", "response": "r"} | body
        return call("POST", "/completions", sent, expect=202)["completion"]["id"]

    good = submit(task, prompt=MARK["prompt"], response=MARK["response"],
                  metadata={MARK["metadatakey"]: MARK["metadatavalue"]})  # fmt: skip
    talked = submit(task, prompt=None, messages=[{"role": "user", "content": MARK["message"]}])
    bad = submit(task, response="cannot")
    seen = submit(doubtful)
    called = submit(slow)
    body = {"taskId": task, "modelId": "m", "prompt": MARK["onceprompt"], "response": "r"}
    for _ in range(2):
        call("POST", "/completions", body, expect=202, Idempotency_Key="SECRETidempotencykey")
    live = {"prompt": MARK["liveprompt"], "response": MARK["liveresponse"], "metadata": {"k": MARK["livemetadata"]}}
    for _ in range(2):
        (reward,) = call("POST", "/rewards", {"taskId": task, "items": [live], "deadlineMs": 20_000}, expect=200,
                         Idempotency_Key="SECRETlivekey")["rewards"]  # fmt: skip
        assert reward["value"] == 0.25
    call("POST", "/rewards", {"taskId": task, "items": [{"prompt": MARK["refusedbody"]}]}, expect=400)
    call("POST", "/completions", {"taskId": task, MARK["refusedbody"]: MARK["refusedbody"]}, expect=400)
    call("POST", "/completions", {"taskId": task, "modelId": 1, "prompt": [MARK["refusedbody"]]}, expect=400)

    server.platform.wait(good, {"completed"})
    server.platform.wait(talked, {"completed"})
    server.platform.wait(bad, {"failed"})
    until(lambda: later.kept, seconds=PATIENCE_S)
    work = later.kept[0]
    assert later.kit.call_back(work, CannotJudge(MARK["callbackerror"])) == "recorded"
    server.platform.wait(called, {"failed"})
    review = until(lambda: call("GET", "/reviews?status=open")["reviews"], seconds=PATIENCE_S, every_s=0.1)[0]["id"]
    call("POST", f"/reviews/{review}/decision", {"approved": True, "value": 0.5, "explanation": MARK["explanation"]},
         expect=200)  # fmt: skip
    server.platform.wait(seen, {"completed"})
    until(lambda: len(server.receiver.received) >= 4, seconds=PATIENCE_S)
    until(lambda: MARK["endpointanswer"] in json.dumps(call("GET", f"/webhooks/{webhook['webhook']['id']}/deliveries")))
    for path in ("/scores", "/workflow-runs", "/reviews", f"/tasks/{task}", "/scores/export?format=jsonl"):
        server.platform.session.get(f"{server.platform.address}/api/v1{path}",
                                    headers={"Authorization": f"Bearer {server.platform.key}"}, timeout=30)  # fmt: skip
    call("POST", "/legal-holds", {"reason": MARK["holdreason"], "taskId": task}, expect=201)
    token = invited(server)
    return {
        **logged_in(server, token),
        "the token of a link": exported(server),
        "the api key": server.bootstrap["apiKey"],
        "a password": server.bootstrap["adminPassword"],
        "a grader's secret": sync.secret,
        "a webhook's secret": webhook["secret"],
        "a callback's token": work.callback_url.rpartition("/")[2],
        "an idempotency key": "SECRETidempotencykey",
        "an invitation's token": token,
    }


class Browser:
    """A session of the pages."""

    def __init__(self, address):
        self.address, self.session = address, requests.Session()

    def get(self, path):
        return self.session.get(f"{self.address}{path}", timeout=30)

    def post(self, path, **form):
        if "csrftoken" not in self.session.cookies:
            self.get(path)
        form["csrfmiddlewaretoken"] = self.session.cookies["csrftoken"]
        answer = self.session.post(f"{self.address}{path}", data=form, timeout=30, allow_redirects=False)
        assert answer.status_code == 302, (path, answer.status_code, answer.text)

    def second_factor(self, password):
        """The secret that is shown to be set up."""
        self.post("/account/confirm", password=password)
        return re.search(r'class="secret">([A-Z2-7]+)<', self.get("/account/second-factor/on").text)[1]


def logged_in(server, token):
    """What browsers hold of people who are in: one with a second factor, one who is just setting it up."""
    boss, new = Browser(server.platform.address), Browser(server.platform.address)
    boss.post("/account/login", login=server.bootstrap["adminEmail"], password=server.bootstrap["adminPassword"])
    secret = boss.second_factor(server.bootstrap["adminPassword"])
    boss.post("/account/second-factor/on", code=code_of(secret))
    new.post(f"/invitations/{token}", name="New", password=PASSWORD)
    begun = new.second_factor(PASSWORD)
    for browser in (boss, new):
        assert browser.get("/account").url.endswith("/account"), "they are in"
    return {
        "a session's key": boss.session.cookies["sessionid"],
        "another session's key": new.session.cookies["sessionid"],
        "a second factor's secret": secret,
        "the secret of a second factor that is being set up": begun,
        "a password that was chosen": PASSWORD,
    }


def exported(server):
    """The token of a link by which the file of an export was downloaded, with all that was scored in it."""
    call = server.platform.call
    path = f"/exports/{call('POST', '/exports', {}, expect=202)['export']['id']}"
    until(lambda: call("GET", path)["export"]["status"] == "completed", seconds=PATIENCE_S, every_s=0.1)
    link = server.platform.session.post(f"{server.platform.address}/api/v1{path}/links", json={}, timeout=30,
                                        headers={"Authorization": f"Bearer {server.platform.key}"}).json()["url"]  # fmt: skip
    token = link.rpartition("/")[2]
    download = server.platform.session.get(f"{server.platform.address}/api/v1/downloads/{token}", timeout=30)
    assert MARK["prompt"] in download.text
    assert MARK["liveresponse"] in download.text
    return token


def invited(server):
    """The token of an invitation that was mailed."""
    server.platform.call("POST", "/members", {"email": "new@example.org", "role": "training_operator"}, expect=201)
    link = re.compile(r"/invitations/([A-Za-z0-9_-]{16,})")
    match = until(lambda: link.search("".join(path.read_text() for path in server.mails.glob("*"))), seconds=PATIENCE_S)
    return match[1]


def dump(env):
    """The whole database as pg_dump writes it."""
    return subprocess.run([program("pg_dump"), "--dbname", env["DATABASE_URL"]], capture_output=True, check=True).stdout


def held_by(redis):
    """Every key of Redis with its value."""
    import redis as client

    entries = []
    with closing(client.Redis.from_url(redis.url)) as connection:
        for key in connection.scan_iter(count=1000):
            entries += [key, connection.dump(key) or b""]
    return b"\n".join(entries)


def forms(text):
    """The forms in which a text may occur in the searched data."""
    content = text.encode()
    yield content
    yield content.hex().encode()
    for skipped in range(3):  # where it begins within base64's groups of three; the edges depend on its neighbours
        yield base64.b64encode(b"x" * skipped + content)[4:-4]


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory):
    """(what was planted, what the server left behind by name, what it answered)."""
    folder = tmp_path_factory.mktemp("plaintext")
    with started(folder) as server, grader(server, server.ports[0]) as sync:
        with grader(server, server.ports[1], supportsAsync=True) as later:
            secrets = plant(server, sync, later)
        time.sleep(1.0)  # the last lines and messages
        places = {
            "the dump": dump(server.env),
            "what Redis holds": held_by(server.redis),
            "commands to Redis": (folder / "monitor").read_bytes(),
        }
        keys = {name: (server.data / name.lower()) for name in launch.GENERATED_SECRETS}
        secrets |= {name: settings_of(server.env, name) for name in launch.GENERATED_SECRETS}
        for path in sorted([*folder.joinpath("logs").rglob("*"), *server.data.rglob("*")]):
            if path.is_file() and path not in keys.values():  # they keep the keys of the embedded default
                places[str(path.relative_to(folder))] = path.read_bytes()
        answered = "\n".join(
            [*server.platform.responses, *(delivery.body.decode() for delivery in server.receiver.received)]
        )
    return MARK | secrets, places, answered


def settings_of(env, name):
    value = env.get(name) or Path(env[f"{name}_FILE"]).read_text().strip()
    return value.rpartition(":")[2]


def test_authorized_readers_get_the_markers_back(left_behind):
    _, places, answered = left_behind
    # the answer to a refused body names the pointer; the rest of the body, and what no answer shows, went in all the same
    unseen = {"refusedbody", "template", "systemprompt", "schema", "taskmetadata", "onceprompt", "endpointanswer"}
    unseen |= {"liveprompt", "liveresponse", "livemetadata"}
    assert [name for name in MARK if name not in unseen and MARK[name] not in answered] == []
    assert len(places["the dump"]) > 100_000
    assert b"scores.score_pending" in places["commands to Redis"]
    assert {"logs/web.log", "logs/worker.log", "logs/beat.log"} <= set(places)
    assert len([place for place in places if place.startswith("data/exports/") and not place.endswith(IDENTITY)]) == 2
    assert b"DEBUG" in places["logs/web.log"]
    assert b"DEBUG" in places["logs/worker.log"]


def test_the_search_detects_a_text_in_every_form():
    for form in ("{}", "hex", "base64"):
        content = b"before " + MARK["prompt"].encode() + b" after"
        shown = {"{}": content, "hex": content.hex().encode(), "base64": base64.b64encode(content)}[form]
        assert any(pattern in shown for pattern in forms(MARK["prompt"])), form


def test_no_submitted_text_and_no_secret_is_stored_in_plaintext(left_behind):
    planted, places, _ = left_behind
    leaks = [
        f"{name} in {place}"
        for name, text in planted.items()
        for place, content in places.items()
        if any(form in content for form in forms(text))
    ]
    assert leaks == []
