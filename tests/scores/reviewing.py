"""What the tests of reviews share."""

from autotune.webhooks.models import Webhook
from tests.factories import UserFactory


def subscribe(organization, *kinds):
    """A webhook of the organization for these kinds of event."""
    return Webhook.objects.create(
        organization=organization,
        created_by=UserFactory(),
        url="https://hooks.example.org",
        events=list(kinds),
        secret="whsec_x",
    )
