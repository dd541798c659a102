"""The documentation matches the code: links have targets, codes and endpoints are all named in docs/api/."""

import ast
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from autotune.access.roles import builtin

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for place in ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/*.md", "sdk/python/*.md")
    for page in ROOT.glob(place)
)
APPS = ("autotune", "graders", "tasks", "scores", "exports")
API = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/api").glob("*.md")))
CODE_PAGES = ("errors.md", "failure-codes.md")

# --- links ----------------------------------------------------------------------------------------------------------

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its code, fenced or indented or between backticks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("](", "] ("), text)


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))}


def dead_links(page: Path) -> Iterator[str]:
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_has_a_target(page):
    assert list(dead_links(page)) == []


# --- commits --------------------------------------------------------------------------------------------------------

COMMIT = re.compile(r"^git show (\w{7})(?: -- ([^#\n]*))?", re.MULTILINE)


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, text=True, capture_output=True, check=False)


@pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").stdout.strip() != "false", reason="the history is not whole"
)
def test_commits_to_copy_exist_and_change_the_named_files():
    commands = COMMIT.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(commands) > 10
    for commit, paths in commands:
        for path in paths.split() or ["."]:
            shown = git("show", "--format=", "--name-only", commit, "--", path)
            assert (shown.returncode, bool(shown.stdout)) == (0, True), (commit, path, shown.stderr)


# --- codes ----------------------------------------------------------------------------------------------------------

CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
PLACE = {  # where a call that makes an error takes its code
    "FieldError": 1, "Invalid.field": 1, "_error": 1,
    "Failure": 0, "_Refused": 0, "Decision": 0, "OutboundError": 0, "JSONRefused": 0, "ScanFault": 0, "AddressRefused": 0,
    "SignatureRefused": 0, "WaitRule": 0, "refuse": 0, "recording.fail": 1,
}  # fmt: skip
CODES_IN = {"_BY_CODE", "RETRYABLE", "_classify", "code", "error_code"}  # tables, and functions that give a code
CODES_IN |= {"DEADLINE_EXCEEDED", "NO_SCORE", "PANEL_INCOMPLETE", "REFUSALS", "EXPIRED"}
NO_CODES = {"", "type", "expired"}  # the last is the state of a review


def codes_of(tree: ast.AST) -> Iterator[str]:
    """Every text that is an error's code: given to what makes an error, or the value of something called `code`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _in_call(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from _in_assignment(target, node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in CODES_IN:
            yield from _texts(node)


def _in_call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    place = PLACE.get(name, PLACE.get(name.rpartition(".")[2]))
    if place is not None and len(node.args) > place:
        yield from _texts(node.args[place])
    yield from (text for keyword in node.keywords if keyword.arg in CODES_IN for text in _texts(keyword.value))


def _in_assignment(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for element, its in zip(target.elts, value.elts, strict=True):
            yield from _in_assignment(element, its)
    elif isinstance(target, ast.Name) and target.id in CODES_IN:
        yield from _texts(value)


def _texts(node: ast.AST) -> Iterator[str]:
    """The codes in an expression; sentences and names are none."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and CODE.fullmatch(inner.value):
            yield inner.value


def all_codes() -> dict[str, str]:
    """{code: a module that gives it}."""
    modules_by_code: dict[str, str] = {}
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts and "demo" not in path.parts:
                for code in codes_of(ast.parse(path.read_text(encoding="utf-8"))):
                    modules_by_code.setdefault(code, str(path.relative_to(ROOT)))
    return {code: where for code, where in modules_by_code.items() if code not in NO_CODES}


def test_the_collector_finds_codes_in_all_the_ways_they_are_written():
    codes = all_codes()
    for code in (
        "invalid_request", "unavailable",  # attributes of a class
        "has_completions", "rotation_in_progress",  # keywords
        "not_found", "one_of", "unknown_parameter",  # a call's argument
        "malformed_id", "invalid_length",  # a function that gives it
        "missing_variable", "rate_limited", "try_again",  # a helper, a tuple
        "timeout", "tls_failed", "connection_reset",  # libcurl's table
        "deadline_exceeded", "no_score", "panel_incomplete", "grader_gone",  # constants, another function's argument
        "duplicate_dimension", "bad_signature", "address_refused", "endpoint_path_refused",
    ):  # fmt: skip
        assert code in codes, code


def code_pages() -> str:
    return "\n".join((ROOT / "docs/api" / name).read_text(encoding="utf-8") for name in CODE_PAGES)


def test_every_error_code_is_documented():
    documented = set(re.findall(r"`([a-z0-9_]+)`", API))
    assert {code: where for code, where in all_codes().items() if code not in documented} == {}


def test_every_documented_code_is_used():
    rows = re.findall(r"^\|((?: ?`[a-z0-9_]+`,?)+) \|", code_pages(), re.MULTILINE)
    named = {code for row in rows for code in re.findall(r"`([a-z0-9_]+)`", row)}
    assert len(named) > 90
    assert sorted(named - all_codes().keys()) == []


# --- endpoints ------------------------------------------------------------------------------------------------------


def operations() -> Iterator[str]:
    """`GET /graders/:id/verify` and so on, for every method of every address below /api/v1. A text has its name."""
    for route, pattern in _patterns(get_resolver().url_patterns, ""):
        view = getattr(pattern.callback, "view_class", None)
        if not route.startswith("api/v1/") or view is None:
            continue
        path = re.sub(r"<str:(\w+)>", r":\1", route.removeprefix("api/v1"))
        path = re.sub(r"<[^>]+>", ":id", path)
        for method in ("get", "post", "put", "patch", "delete"):
            if hasattr(view, method):
                yield f"{method.upper()} {path}"


def _patterns(patterns: list, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, route)
        else:
            yield route, pattern


def test_every_endpoint_is_documented():
    endpoints = list(operations())
    assert len(endpoints) >= 20
    assert [operation for operation in endpoints if f"`{operation}`" not in API] == []


def test_no_endpoint_is_documented_that_does_not_exist():
    named = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`", API, re.MULTILINE)
    assert sorted(set(named) - set(operations())) == []


def test_every_page_of_the_api_is_in_its_index():
    index = ROOT / "docs/api/README.md"
    linked = {target.partition("#")[0] for target in LINK.findall(prose(index))}
    assert {page.name for page in index.parent.glob("*.md")} - linked - {index.name} == set()


def test_every_call_is_documented_on_one_page():
    rows = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`", API, re.MULTILINE)
    assert [call for call, count in Counter(rows).items() if count > 1] == []


def test_the_table_of_roles_is_that_of_the_built_in_roles():
    """A cell lists actions and a scope: `create read: organization`; `everything` is all four, a dash none."""
    page = (ROOT / "docs/api/roles.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \|$", page.partition("\n## Built-in roles\n")[2].partition("\n## ")[0], re.MULTILINE)
    names = re.findall(r"`(\w+)`", rows[0])
    documented: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {name: {} for name in names}
    for resources, *cells in (row.split(" | ") for row in rows[2:]):
        for resource in re.findall(r"`(\w+)`", resources):
            for name, cell in zip(names, cells, strict=True):
                if cell != "–":
                    actions, _, scope = cell.partition(": ")
                    everything = actions == "everything"
                    documented[name][resource] = (scope, builtin.EVERYTHING if everything else tuple(actions.split()))
    in_text = "One more built-in role, `collector`, is for keys inside applications: it allows\n*create* of `telemetry`"
    assert in_text in page
    documented["collector"] = {"telemetry": ("organization", ("create",))}
    assert documented == builtin.BUILT_IN


# --- examples -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_example_compiles(page):
    for example in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        compile(example, str(page), "exec")


def test_the_plain_grader_of_the_guide_signs_as_the_vectors_say(monkeypatch):
    page = (ROOT / "docs/grader-guide.md").read_text(encoding="utf-8")
    source = re.search(
        r"<!-- run by: tests/house/test_docs.py -->\n```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    )[1]
    vectors = json.loads((ROOT / "docs/protocol/vectors.json").read_text(encoding="utf-8"))
    vector = vectors["signing"][0]
    monkeypatch.setenv("AUTOTUNE_GRADER_SECRET", vectors["secrets"][vector["secret"]])
    names: dict = {"__name__": "plain_grader"}
    exec(compile(source, "grader-guide.md", "exec"), names)
    signature = names["sign"](vector["timestamp"], vector["request_id"], vector["body_text"].encode())
    assert signature == vector["signature"]


def test_the_guide_names_every_common_mistake_of_the_vectors():
    vectors = json.loads((ROOT / "docs/protocol/vectors.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/grader-guide.md").read_text(encoding="utf-8")
    mistakes = vectors["common_mistakes"].keys() - {"for", "note"}
    assert [name for name in sorted(mistakes) if f"`{name}`" not in page] == []
