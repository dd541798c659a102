"""The template context of the login page's single sign-on button."""

from django.conf import settings
from django.http import HttpRequest


def sign_on(request: HttpRequest) -> dict[str, str]:
    """Return the provider's name and id for templates; empty if none is configured."""
    if not settings.AUTOTUNE_OIDC_ISSUER:
        return {}
    return {"sign_on_name": settings.AUTOTUNE_OIDC_NAME, "sign_on_id": settings.AUTOTUNE_OIDC_ID}
