"""What several lists of this app are narrowed by."""

from autotune.access.models import Organization
from autotune.core.admin.lists import named

OrganizationFilter = named(Organization, "org")
