"""The server without audit and throttling, for `trust.py`: the baseline for the cost of the two.

A WSGI entry of the bench. The product has no switch for the audit trail; this file takes it out from outside: without its
middleware no call is at hand, and a request's work is held in a transaction only for its stored answer.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")

from django.conf import settings  # noqa: E402

settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.startswith("autotune.access.audit.")]
settings.KEY_RATE_PER_MINUTE = settings.FAILURE_RATE_PER_MINUTE = 0  # whatever the environment says

from autotune.wsgi import application  # noqa: E402
from autotune.access import idempotency, views  # noqa: E402

__all__ = ["application"]


def perform(self, operation, work):
    request = self.request._request
    key = idempotency.key_of(request) if request.method in self.keyed_methods else None
    if key is None:
        return work()
    keyed = idempotency.KeyedRequest.of(request, key, self.principal.organization.pk)
    return idempotency.once(keyed, work, secrets=operation.secrets, calls_out=operation.calls_out)


views.ApiView.perform = perform
views.ApiView.heard = lambda *_: None
