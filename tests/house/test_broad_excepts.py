"""An `except` that catches every exception hides faults: each is in the list here, with the reason why it must."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SDK = "sdk/python/src"
CHECKED = ("autotune", "graders", "tasks", "scores", "exports", SDK)
BROAD = {"Exception", "BaseException"}
MOST = 18
ALLOWED = {  # (file, function): why no narrower type would do
    ("autotune/access/accounts/mailing.py", "send"): "each mail backend raises its own errors",
    ("autotune/access/audit/backlog.py", "AuditBacklog._write_next"): "one event must not block those after it",
    ("autotune/access/audit/trail.py", "noted"): "nothing about its event may fail a read",
    ("autotune/core/api/problems.py", "converted"): "only `typed` knows which exceptions have a typed error",
    ("autotune/core/background.py", "survived"): "a background thread must outlive the errors of its work",
    ("autotune/core/brokers/queue.py", "send"): "each broker's client raises its own errors; a hint fails nothing",
    ("autotune/core/streams.py", "watched"): "any error of a stream is logged, and raised again",
    ("autotune/webhooks/events/fanout.py", "_render"): "an event that cannot be rendered must not block others",
    ("exports/files/storing.py", "_as_storage_away"): "each storage raises its own errors",
    ("exports/work/running.py", "run"): "no error of a row or a library may stop the next export",
    ("graders/hosted/child.py", "_serve"): "a judging function may raise anything",
    ("graders/hosted/children.py", "Children.borrow"): "a child is unusable after any error, which is raised again",
    ("graders/health/reports.py", "_settle_all"): "one grader must not keep others from their health checks",
    ("scores/live/boundary.py", "caught"): "a trainer gets JSON, whatever failed",
    (f"{SDK}/autotune_sdk/cli/outputs.py", "ParquetWriter.abandon"): "the error that it follows is the one to report",
    (f"{SDK}/autotune_sdk/grader/handling.py", "answer"): "the platform gets a signed answer, whatever failed",
    (f"{SDK}/autotune_sdk/grader/base.py", "_attempted"): "a grader's own scoring function may raise anything",
    (f"{SDK}/autotune_sdk/integrations/_gathering.py", "Gathering._ask"): "the callers that wait get the exception",
}


def broad_excepts(root: Path) -> Counter[tuple[str, str]]:
    """Count the broad excepts of each function: (file, qualified name of the function)."""
    return Counter(
        (str(path.relative_to(root)), name)
        for folder in CHECKED
        for path in (root / folder).rglob("*.py")
        for name in functions(ast.parse(path.read_text(encoding="utf-8")))
    )


def functions(node: ast.AST, inside: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the name of the enclosing function for each broad `except` or `suppress` below the node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(child, (*inside, child.name))
            continue
        if is_broad(child):
            yield ".".join(inside)
        yield from functions(child, inside)


def is_broad(node: ast.AST) -> bool:
    """Whether the node is `except:`, `except Exception`, one of a tuple with it, or `suppress(Exception)`."""
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or any(name_of(part) in BROAD for part in ast.walk(node.type))
    return isinstance(node, ast.Call) and name_of(node.func) == "suppress" and any(map(names_broad, node.args))


def names_broad(argument: ast.expr) -> bool:
    return name_of(argument) in BROAD


def name_of(node: ast.AST) -> str:
    """Return the last part of a dotted name: `Exception` of `builtins.Exception`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_every_broad_except_has_its_reason():
    unlisted = broad_excepts(ROOT) - Counter(ALLOWED.keys())
    assert not unlisted, "catch a narrower type, or use problems.converted, background.survived or live's caught"


def test_every_entry_of_the_list_is_still_needed():
    stale = Counter(ALLOWED.keys()) - broad_excepts(ROOT)
    assert not stale, "remove these entries"


def test_the_list_is_short_and_gives_reasons():
    assert len(ALLOWED) <= MOST
    assert all(ALLOWED.values())


@pytest.mark.parametrize(
    "handler",
    [
        "except: pass",
        "except Exception: pass",
        "except BaseException as exc: raise",
        "except (ValueError, Exception): pass",
        "except builtins.Exception: pass",
    ],
)
def test_every_form_of_a_broad_except_counts(handler):
    source = f"class A:\n  async def b(self):\n    try: pass\n    {handler}"
    assert list(functions(ast.parse(source))) == ["A.b"]


@pytest.mark.parametrize("call", ["suppress(Exception)", "contextlib.suppress(OSError, BaseException)"])
def test_suppressing_every_exception_counts(call):
    assert list(functions(ast.parse(f"def a():\n  with {call}: pass"))) == ["a"]


def test_a_second_one_in_a_listed_function_is_new():
    source = "def a():\n  try: pass\n  except Exception: pass\n  try: pass\n  except Exception: pass"
    assert Counter(functions(ast.parse(source))) - Counter(["a"]) == Counter(["a"])


@pytest.mark.parametrize(
    "handler", ["except OSError: pass", "except (KeyError, OSError): pass", "except errors.Error: pass"]
)
def test_a_narrow_except_does_not(handler):
    assert list(functions(ast.parse(f"def a():\n  try: pass\n  {handler}\n  with suppress(OSError): pass"))) == []
