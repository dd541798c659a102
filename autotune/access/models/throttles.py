"""The model of throttled callers, used while Redis is unavailable or not configured."""

from django.db import models


class Throttle(models.Model):
    """A caller's state in the generic cell rate algorithm.

    subject     what is limited, such as `key:…` or `address:…`
    arrives_at  the theoretical arrival time: the rate allows a request while this is not too far ahead of now
    """

    subject = models.CharField(max_length=120, primary_key=True)
    arrives_at = models.DateTimeField()  # no index: it changes with each request, and an update in place costs half

    def __str__(self) -> str:
        return self.subject
