"""What the tests ask of events."""

import json

from django.forms.models import model_to_dict

from autotune.access.audit import macs


def sound(event):
    """Whether the event is as this service wrote it."""
    return macs.fits(macs.key_of(event.chain), event)


def everything(event):
    """Everything in the event, as one text."""
    return json.dumps(model_to_dict(event), default=str)
