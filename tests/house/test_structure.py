"""tools/house.py finds every kind of breach, and the current tree has none."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools/house.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


house = load()


@pytest.fixture
def tree(tmp_path):
    """Write a small server: {path: text}. Return the breaches of it."""

    def write(files: dict[str, str]) -> list[str]:
        base = {
            "autotune/core/outbound/transfers.py": "import pycurl\n",
            "graders/models.py": "",
            "scores/models.py": "",
        }
        for path, text in (base | files).items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return house.breaches(tmp_path)

    return write


def test_this_project_has_no_breach():
    assert house.breaches(ROOT) == []


def test_a_downward_import_is_allowed(tree):
    assert (
        tree({"scores/intake/submission.py": "from graders.models import Grader\nfrom autotune.core import http\n"})
        == []
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("graders/gateway.py", "from scores.models import Score"),
        ("graders/gateway.py", "import scores.models"),
        ("graders/gateway.py", "def late():\n    from scores import models"),
        ("graders/gateway.py", "importlib.import_module('scores.models')"),
        ("graders/gateway.py", "apps.get_model('scores', 'Score')"),
        ("graders/gateway.py", "apps.get_model('scores.Score')"),
        ("graders/gateway.py", "score = models.ForeignKey('scores.Score', on_delete=models.PROTECT)"),
        ("graders/gateway.py", "score = models.OneToOneField(to='scores.Score', on_delete=models.PROTECT)"),
        ("autotune/core/ids.py", "from autotune.access.models import User"),
        ("autotune/access/models.py", "from autotune.site import home"),
        ("autotune/core/ids.py", "from ..access.models import User"),
        ("scores/intake/submission.py", "from autotune.urls import urlpatterns"),
    ],
)
def test_an_upward_import_is_a_breach(tree, path, text):
    others = {"autotune/access/models.py": "", "autotune/site/home.py": "", "autotune/urls.py": "urlpatterns = []"}
    breaches = tree(others | {path: text})
    assert len(breaches) == 1
    assert breaches[0].startswith(path)
    assert "is in a higher layer" in breaches[0]


def test_the_composition_and_the_site_may_import_everything(tree):
    assert tree({"autotune/urls.py": "import scores.models", "autotune/site/home.py": "import scores.models"}) == []
    assert tree({"autotune/settings/celery.py": "import scores.models"}) == []


def test_names_for_type_checkers_are_no_imports(tree):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from scores.models import Score\n"
    assert tree({"graders/gateway.py": text}) == []


def test_a_cycle_is_a_breach(tree):
    files = {"scores/a.py": "from scores import b", "scores/b.py": "from .c import x", "scores/c.py": "import scores.a"}
    assert tree(files) == ["import cycle: scores.a <-> scores.b <-> scores.c"]


@pytest.mark.parametrize(
    "late",
    [
        "from .b import B",
        "from autotune_sdk import b",
        "def later():\n    from .b import B",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B",
    ],
)
def test_a_cycle_in_the_sdk_is_a_breach_even_if_only_a_type_checker_sees_it(tree, late):
    sdk = "sdk/python/src/autotune_sdk"
    modules = {f"{sdk}/__init__.py": "from .a import A", f"{sdk}/b.py": "from .a import A"}
    assert tree(modules | {f"{sdk}/a.py": ""}) == []
    assert tree(modules | {f"{sdk}/a.py": late}) == ["import cycle: autotune_sdk.a <-> autotune_sdk.b"]


@pytest.mark.parametrize(
    "text",
    [
        "from autotune.core.templatetags import ui",
        "from autotune.core.templatetags.ui import brief",
        "def late():\n    import autotune.core.templatetags.ui",
    ],
)
def test_a_module_of_template_tags_that_others_import_is_a_breach(tree, text):
    modules = {"autotune/core/templatetags/__init__.py": "", "autotune/core/templatetags/ui.py": ""}
    assert tree(modules) == []
    (breach,) = tree(modules | {"graders/board.py": text})
    assert breach.startswith("graders/board.py:")
    assert "imports autotune.core.templatetags.ui" in breach


def test_a_folder_with_more_than_25_modules_is_a_breach(tree):
    modules = {f"scores/wing/m{number:02}.py": "" for number in range(25)} | {"scores/wing/__init__.py": ""}
    assert tree(modules) == []
    assert tree(modules | {"scores/wing/last.py": ""}) == ["scores/wing/: 26 modules; at most 25 are allowed"]


def test_a_folder_of_templates_is_the_path_of_a_package(tree):
    packages = {"scores/reviews/__init__.py": "", "autotune/access/keys/__init__.py": ""}
    templates = {
        "templates/scores/reviews/desk.html": "",
        "templates/access/keys/list.html": "",
        "templates/429.html": "",
    }
    assert tree(packages | templates | {"templates/admin/index.html": "", "templates/mfa/totp/form.html": ""}) == []
    assert tree({"templates/reviews/desk.html": "", "templates/scores/review/_item.html": ""}) == [
        "templates/reviews/: there is no package reviews or autotune/reviews",
        "templates/scores/review/: there is no package scores/review or autotune/scores/review",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("scores/reviews/pages.py", "render(request, 'scores/reviews/list.html')"),
        ("templates/scores/reviews/desk.html", '{% include "scores/reviews/list.html" with row=row only %}'),
        ("templates/scores/reviews/desk.html", "{% extends 'scores/reviews/list.html' %}"),
    ],
)
def test_a_template_that_is_named_exists(tree, path, text):
    files = {"scores/reviews/__init__.py": "", path: text}
    assert tree(files) == [f"{path}: the template scores/reviews/list.html does not exist"]
    assert tree({"templates/scores/reviews/list.html": '{% extends "admin/base.html" %}'}) == []


@pytest.mark.parametrize(
    "text",
    [
        "import requests",
        "import requests.adapters",
        "from urllib3 import PoolManager",
        "import urllib.request",
        "from urllib import request",
        "import http.client as h",
        "from http import client",
        "import aiohttp",
        "import httpx",
        "import pycurl",
        "__import__('requests')",
        "importlib.import_module('httpx')",
        "def f():\n    import pycurl",
    ],
)
@pytest.mark.parametrize("path", ["graders/gateway/transport.py", "autotune/site/demo.py", "autotune/urls.py"])
def test_an_http_client_outside_the_outbound_module_is_a_breach(tree, path, text):
    (breach,) = tree({path: text})
    assert breach.startswith(path)
    assert "autotune/core/outbound/engine.py" in breach


@pytest.mark.parametrize(
    "text", ["import urllib.parse", "from http import HTTPStatus", "from autotune.core import http"]
)
def test_a_name_that_only_resembles_a_client_is_allowed(tree, text):
    assert tree({"graders/names.py": text}) == []


def test_the_command_exits_1_and_names_the_line(tree, tmp_path, monkeypatch, capsys):
    tree({"tasks/api.py": "\nimport requests\n"})
    monkeypatch.chdir(tmp_path)
    assert house.main() == 1
    assert "tasks/api.py:2: imports requests" in capsys.readouterr().out
