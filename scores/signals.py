"""What higher apps are told. Receivers run inside the sender's transaction."""

from django.dispatch import Signal

texts_erased = Signal()
"""The texts of completions are going. Sent with `completions` (locked; at most erasing.AT_ONCE ids) while their rows
still hold what they held. A receiver takes the texts out of what it keeps, or marks that as gone.
"""
