"""Admin pages of graders: view, check, verify and switch them. People register and change graders through the API."""

from graders.admin import changes, checks, graders, guards, secrets, statistics, versions  # noqa: F401
