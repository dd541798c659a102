"""List filters that several admin pages of this app share."""

from autotune.access.models import Organization
from autotune.core.admin.lists import named

OrganizationFilter = named(Organization, "org")
