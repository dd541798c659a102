"""What higher apps are told. Receivers run inside the sender's transaction."""

from django.dispatch import Signal

texts_erased = Signal()
"""The texts of completions are going. Sent with `completions` (locked; at most erasing.AT_ONCE ids) while their rows
still hold what they held, and `deleted`: their rows will go too. A receiver takes the texts out of what it keeps, or
marks that as gone.
"""

score_deleted = Signal()
"""Scores are deleted, and with them the rewards that they made. Sent with the
`completions`, locked, that they judged.
"""
