"""The broker of the embedded default: messages appear whole or not at all, and nothing in its folders stops a reader."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection, Exchange, Queue

from autotune.core.brokers import files

ROOT = Path(__file__).resolve().parents[3]
QUEUE = "work"


@pytest.fixture
def folders(tmp_path):
    options = {
        "data_folder_in": tmp_path / "messages",
        "data_folder_out": tmp_path / "messages",
        "processed_folder": tmp_path / "processed",
        "control_folder": tmp_path / "control",
    }
    for folder in set(options.values()):
        folder.mkdir()
    return {name: str(folder) for name, folder in options.items()} | {"store_processed": False}


@pytest.fixture
def channel(folders):
    files.register()
    with Connection(f"{files.SCHEME}://", transport_options=folders) as connection:
        channel = connection.channel()
        Queue(QUEUE, Exchange(QUEUE), routing_key=QUEUE, channel=channel).declare()
        yield channel


@pytest.fixture
def messages(folders):
    return Path(folders["data_folder_in"])


def take_all(channel):
    messages = []
    while True:
        try:
            messages.append(channel._get(QUEUE))
        except Empty:
            return messages


def elsewhere(folders, body, *args):
    """A separate process that runs `body`, in which `channel` is defined."""
    code = textwrap.dedent("""
        import json, sys
        from kombu import Connection, Exchange, Queue
        from autotune.core.brokers import files as filebroker
        filebroker.register()
        channel = Connection(f"{filebroker.SCHEME}://", transport_options=json.loads(sys.argv[1])).channel()
        print("ready", flush=True)
        sys.stdin.readline()
    """) + textwrap.dedent(body)
    command = [sys.executable, "-c", code, json.dumps(folders), *args]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_message_is_received_once_and_leaves_no_file(channel, messages, folders):
    channel._put(QUEUE, {"body": "é", "n": 1})
    assert [path.name.endswith(f".{QUEUE}.msg") for path in messages.iterdir()] == [True]
    assert take_all(channel) == [{"body": "é", "n": 1}]
    assert list(messages.iterdir()) + os.listdir(folders["processed_folder"]) == []


def test_messages_of_another_queue_stay(channel):
    channel._put("other", {"n": 1})
    channel._put(f"{QUEUE}.more", {"n": 2})
    assert take_all(channel) == []
    assert channel._get("other") == {"n": 1}


BAD = {
    "empty": b"",
    "half": b'{"body": "abc',
    "no JSON": b"\x00\x01",
    "no UTF-8": b'{"body": "\xff"}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_an_invalid_file_is_deleted_and_the_next_message_is_read(channel, messages, content):
    (messages / f"0_bad.{QUEUE}.msg").write_bytes(content)
    channel._put(QUEUE, {"n": 1})
    assert take_all(channel) == [{"n": 1}]
    assert list(messages.iterdir()) == []


def test_a_draft_is_no_message_yet(channel, messages):
    (messages / f".0_draft.{QUEUE}.msg.draft").write_text("{")
    (messages / f".0_hidden.{QUEUE}.msg").write_text("{")
    assert take_all(channel) == []


def test_a_folder_named_like_a_message_is_skipped(channel, messages):
    (messages / f"0_folder.{QUEUE}.msg").mkdir()
    channel._put(QUEUE, {"n": 1})
    assert {"n": 1} in take_all(channel)


@pytest.mark.processes
def test_a_reader_never_sees_a_partial_message_while_two_processes_write(channel, folders):
    body = """
        for number in range(150):
            channel._put("work", {"from": sys.argv[2], "n": number, "padding": "x" * 20_000})
    """
    writers = [elsewhere(folders, body, name) for name in "ab"]
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    messages = []
    while any(writer.poll() is None for writer in writers):
        messages += take_all(channel)
    messages += take_all(channel)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert sorted((message["from"], message["n"]) for message in messages) == [(w, n) for w in "ab" for n in range(150)]


@pytest.mark.processes
def test_each_message_goes_to_one_of_two_readers(channel, folders):
    for number in range(200):
        channel._put(QUEUE, number)
    body = """
        from queue import Empty
        found = []
        try:
            while True:
                found.append(channel._get("work"))
        except Empty:
            print(json.dumps(found))
    """
    readers = [elsewhere(folders, body) for _ in range(2)]
    for reader in readers:
        reader.stdin.write("\n")
        reader.stdin.flush()
    taken = [json.loads(reader.communicate()[0]) for reader in readers]
    assert sorted(taken[0] + taken[1]) == list(range(200))


@pytest.mark.processes
def test_processes_that_bind_at_once_are_all_bound(channel, folders):
    body = """
        for number in range(20):
            name = f"{sys.argv[2]}{number}"
            Queue(name, Exchange("shared"), routing_key=name, channel=channel).declare()
            channel.get_table("shared")
    """
    binders = [elsewhere(folders, body, name) for name in "abc"]
    for binder in binders:
        binder.stdin.write("\n")
        binder.stdin.flush()
    assert [binder.wait(60) for binder in binders] == [0, 0, 0]
    bound = {entry.queue for entry in channel.get_table("shared")}
    assert bound == {f"{name}{number}" for name in "abc" for number in range(20)}


def test_a_table_that_is_being_created_has_no_queues(channel, folders):
    Path(folders["control_folder"], "fresh.exchange").write_bytes(b"")
    assert channel.get_table("fresh") == []


def test_a_damaged_table_is_rebuilt(channel, folders):
    Path(folders["control_folder"], "broken.exchange").write_bytes(b'[["a", ')
    Queue("q", Exchange("broken"), routing_key="q", channel=channel).declare()
    assert [entry.queue for entry in channel.get_table("broken")] == ["q"]
