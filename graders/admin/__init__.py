"""Admin pages of graders. Registering and changing is the API's; here graders are seen, asked, switched off and on."""

from graders.admin import changes, checks, graders, guards, secrets, statistics, versions  # noqa: F401
