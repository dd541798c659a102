"""Check the project's structure. Run it from the project's root; exit status 1 on a breach.

  upward imports   exports -> scores -> tasks -> graders -> autotune.{webhooks, llm} -> autotune.access ->
                   autotune.charts -> autotune.core; `apps.get_model` and a relation named by a string count as imports
  cycles           between any two modules; in the SDK also by imports that only a type checker sees
  tag libraries    modules of `templatetags` that others import: their functions belong in a module of the app
  crowded folders  more than 25 modules in one folder
  templates        templates/scores/reviews/ belongs to the package scores/reviews/, templates/access/ to
                   autotune/access/; a template that code or another template names exists
  HTTP clients     only autotune/core/outbound/engine.py and transfers.py, where addresses are checked, send requests
                   to others

`autotune/site/` and the composition (settings, urls, celery, wsgi, asgi) may import every app; no app may import them.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

APPS = ("autotune", "graders", "tasks", "scores", "exports")  # each may import those before it
WITHIN = ("core", "charts", "access", "webhooks", "llm")  # inside autotune: core < charts < access < the other two
COMPOSITION = ("autotune.settings", "autotune.urls", "autotune.celery", "autotune.wsgi", "autotune.asgi")
SITE = "autotune.site"
SDK = Path("sdk/python/src")
OUTBOUND = "autotune.core.outbound.engine"
TRANSFERS = "autotune.core.outbound.transfers"
HTTP_CLIENTS = (
    *("requests", "urllib3", "urllib.request", "http.client", "xmlrpc.client", "aiohttp", "httpx", "httpx2"),
    *("pycurl", "httplib2", "niquests", "treq", "tornado.httpclient", "websocket", "websockets"),
)
FOLDER_MOST = 25
TEMPLATES = Path("templates")
LIBRARY_TEMPLATES = (
    "account",
    "admin",
    "drf_spectacular",
    "mfa",
    "socialaccount",
)  # these replace or extend a library's
TEMPLATE_NAME = re.compile(r"""["']([a-z_]+(?:/[a-z_0-9]+)+\.html)["']""")
RELATIONS = {"ForeignKey", "OneToOneField", "ManyToManyField", "GenericRelation"}


@dataclass(frozen=True)
class Reference:
    """A reference to a module: `target` is dotted and may continue inside the module ("tasks.models.Task")."""

    target: str
    line: int


@dataclass(frozen=True)
class Module:
    """One source file of the server."""

    name: str
    path: Path
    references: tuple[Reference, ...]


def read(root: Path) -> dict[str, Module]:
    """Return every module of the server by its dotted name, without migrations and tests."""
    return modules_below(root, [path for app in APPS for path in sorted((root / app).rglob("*.py"))], root)


def read_sdk(root: Path) -> dict[str, Module]:
    """Return every module of the SDK by its dotted name; imports for type checkers count as references."""
    return modules_below(root / SDK, sorted((root / SDK).rglob("*.py")), root, with_typing=True)


def modules_below(base: Path, paths: Iterable[Path], root: Path, *, with_typing: bool = False) -> dict[str, Module]:
    """Return the modules of `paths` by their dotted names, which begin at the folder `base`."""
    modules = {}
    for path in paths:
        inside = path.relative_to(base)
        if "migrations" in inside.parts:
            continue
        name = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(inside))
        modules[name] = Module(name, path.relative_to(root), tuple(references(tree, package, with_typing=with_typing)))
    return modules


def references(tree: ast.Module, package: str, *, with_typing: bool = False) -> Iterator[Reference]:
    """Yield references of a module: imports, `import_module("…")`, models by string.

    with_typing  also what is imported under TYPE_CHECKING, which does not run
    """
    typing_only = set() if with_typing else typing_only_nodes(tree)
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (Reference(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            stem = absolute(node, package)
            yield from (Reference(f"{stem}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and (target := module_in_call(node)):
            yield Reference(target, node.lineno)


def typing_only_nodes(tree: ast.Module) -> set[int]:
    """Return the ids of all nodes under `if TYPE_CHECKING:`."""
    return {
        id(inner)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for statement in block.body
        for inner in ast.walk(statement)
    }


def absolute(node: ast.ImportFrom, package: str) -> str:
    """Return the dotted module of `from … import`, with relative imports resolved."""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def module_in_call(node: ast.Call) -> str | None:
    """Return the module that a call names by a string: `import_module`, `get_model`, a relation's target."""
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "to"), None)
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return None
    if function in {"import_module", "__import__", "import_string"}:
        return first.value
    if function == "get_model" or (function in RELATIONS and "." in first.value):
        label = first.value.split(".")[0]
        return f"autotune.{label}.models" if label in WITHIN else f"{label}.models"
    return None


def module_of(target: str, modules: dict[str, Module]) -> str | None:
    """Return the project's module of a dotted name, or None for other packages."""
    while target and target not in modules:
        target = target.rpartition(".")[0]
    return target or None


def composes(name: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in (*COMPOSITION, SITE))


def rank(name: str) -> tuple[int, int]:
    """Return the layer of a module: greater is higher. Plain modules in autotune/ (environment.py) have none: -1."""
    if composes(name):
        return len(APPS), 0
    app, _, rest = name.partition(".")
    inner = rest.partition(".")[0]
    return APPS.index(app), min(WITHIN.index(inner), 3) if app == "autotune" and inner in WITHIN else -1


def is_above(target: str, importer: str) -> bool:
    (a, inner_a), (b, inner_b) = rank(importer), rank(target)
    return b > a or (a == b and inner_b > inner_a >= 0)


def edges(modules: dict[str, Module]) -> Iterator[tuple[Module, str, int]]:
    """Yield (importer, imported module, line) inside the project."""
    for module in modules.values():
        for reference in module.references:
            target = module_of(reference.target, modules)
            if target and target != module.name:
                yield module, target, reference.line


def upward(modules: dict[str, Module]) -> list[str]:
    """Return imports of a module in a higher layer, which only the composition may have."""
    return sorted(
        {
            f"{module.path}:{line}: {module.name} imports {target}, which is in a higher layer"
            for module, target, line in edges(modules)
            if not composes(module.name) and module.name != "autotune" and is_above(target, module.name)
        }
    )


def cycles(modules: dict[str, Module]) -> list[str]:
    """Return groups of modules that import one another (strongly connected, by reachability: the graph is small)."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for module, target, _ in edges(modules):
        graph[module.name].add(target)

    def reach(start: str) -> frozenset[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            fresh = graph[todo.pop()] - seen
            seen |= fresh
            todo.extend(fresh)
        return frozenset(seen)

    reachable = {name: reach(name) for name in graph}
    groups = {
        tuple(sorted(other for other in reachable[name] if name in reachable[other]))
        for name in graph
        if name in reachable[name]
    }
    return sorted(f"import cycle: {' <-> '.join(group)}" for group in groups)


def tag_libraries(modules: dict[str, Module]) -> list[str]:
    """Return imports of a module of template tags, which are for templates only."""
    return sorted(
        f"{module.path}:{line}: imports {target}; move what it needs out of the template tags"
        for module, target, line in edges(modules)
        if ".templatetags." in target
    )


def http_clients(modules: dict[str, Module]) -> list[str]:
    """Return imports of an HTTP client outside the outbound engine."""
    return sorted(
        f"{module.path}:{reference.line}: imports {client}; make outbound calls through {OUTBOUND.replace('.', '/')}.py"
        for module in modules.values()
        if module.name not in (OUTBOUND, TRANSFERS)
        for reference in module.references
        for client in HTTP_CLIENTS
        if reference.target == client or reference.target.startswith(f"{client}.")
    )


def crowded(modules: dict[str, Module]) -> list[str]:
    """Return folders with too many modules to read easily."""
    counts = Counter(module.path.parent for module in modules.values() if module.path.name != "__init__.py")
    return sorted(
        f"{folder}/: {count} modules; at most {FOLDER_MOST} are allowed"
        for folder, count in counts.items()
        if count > FOLDER_MOST
    )


def template_folders(root: Path) -> list[str]:
    """Return folders of templates that are not the path of a package, which may leave out `autotune/`."""
    folders = {path.parent.relative_to(root / TEMPLATES) for path in (root / TEMPLATES).rglob("*.*")}
    return sorted(
        f"{TEMPLATES / folder}/: there is no package {folder} or autotune/{folder}"
        for folder in folders
        if folder.parts
        and folder.parts[0] not in LIBRARY_TEMPLATES
        and not any((base / folder / "__init__.py").is_file() for base in (root, root / "autotune"))
    )


def missing_templates(root: Path, modules: dict[str, Module]) -> list[str]:
    """Return names of templates that do not exist, in code and in templates; a library's own count as existing."""
    sources = [root / module.path for module in modules.values()] + sorted((root / TEMPLATES).rglob("*.html"))
    return [
        f"{source.relative_to(root)}: the template {name} does not exist"
        for source in sources
        for name in sorted(set(TEMPLATE_NAME.findall(source.read_text(encoding="utf-8"))))
        if name.partition("/")[0] not in LIBRARY_TEMPLATES and not (root / TEMPLATES / name).is_file()
    ]


def breaches(root: Path) -> list[str]:
    """Return a line for each breach in the tree under `root`."""
    modules = read(root)
    return [
        *upward(modules),
        *cycles(modules),
        *cycles(read_sdk(root)),
        *tag_libraries(modules),
        *http_clients(modules),
        *crowded(modules),
        *template_folders(root),
        *missing_templates(root, modules),
    ]


def main() -> int:
    lines = breaches(Path.cwd())
    for line in lines:
        print(line)
    print(f"house: {len(lines)} breaches" if lines else "house: in order")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
