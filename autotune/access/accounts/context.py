"""What the login page shows of single sign-on."""

from django.conf import settings
from django.http import HttpRequest


def sign_on(request: HttpRequest) -> dict[str, str]:
    """The provider's name, where one is configured; for templates."""
    if not settings.AUTOTUNE_OIDC_ISSUER:
        return {}
    return {"sign_on_name": settings.AUTOTUNE_OIDC_NAME, "sign_on_id": settings.AUTOTUNE_OIDC_ID}
