"""Templates and code name pages by their routes. `{% url … as %}` and links that fail silently would hide a wrong name."""

import re

from django.conf import settings
from django.contrib import admin
from django.urls import get_resolver

from autotune.access.audit.reading import object_names
from autotune.access.frame import navigation
from autotune.core.admin.base import ProductPageMixin
from autotune.site.search import results

IN_TEMPLATES = re.compile(r"""\{%\s*url\s+['"]([\w:-]+)['"]""")
IN_CODE = re.compile(r"""\b(?:reverse|redirect|links\.to|task_figures\.listed)\(\s*"([\w:-]+)"[,)]""")
APPS = ("autotune", "graders", "tasks", "scores", "exports")


def unknown(names):
    """The names without a route; those of other packages, such as `admin:index`, have a namespace."""
    routes = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    return sorted({name for name in names if ":" not in name} - routes)


def named(paths, pattern):
    """{path: names of pages in it}."""
    files = {str(path.relative_to(settings.BASE_DIR)): pattern.findall(path.read_text()) for path in paths}
    return {path: names for path, names in files.items() if names}


def test_templates_name_pages_that_exist():
    files = named((settings.BASE_DIR / "templates").rglob("*.html"), IN_TEMPLATES)
    assert len(files) > 50
    assert {path: unknown(names) for path, names in files.items() if unknown(names)} == {}


def test_code_names_pages_that_exist():
    files = named((path for app in APPS for path in (settings.BASE_DIR / app).rglob("*.py")), IN_CODE)
    assert len(files) > 10
    assert {path: unknown(names) for path, names in files.items() if unknown(names)} == {}


def test_the_navigation_the_search_and_the_audit_log_name_pages_that_exist():
    places = [place.page for place in (*navigation.entries(), *navigation.acts())]
    kinds = [kind.route for kind in results.KINDS.values()]
    objects = [name for name, _ in object_names.PAGES.values()]
    assert unknown([*places, *kinds, *objects]) == []


def test_the_administration_names_pages_that_exist():
    names = [site.page_name for site in admin.site._registry.values() if isinstance(site, ProductPageMixin)]
    assert len(names) >= 5
    assert unknown(filter(None, names)) == []
