"""Admin pages of organizations, people, roles and keys."""

from django.contrib import admin
from django.contrib.auth.models import Group

from autotune.access.accounts import admin as accounts_admin  # noqa: F401
from autotune.access.admin import answers, keys, members, organizations, people, roles  # noqa: F401
from autotune.access.audit import admin as audit_admin  # noqa: F401
from autotune.access.throttling import admin as throttling_admin  # noqa: F401 - each of these registers its pages

admin.site.unregister(Group)  # what people may do is in roles
