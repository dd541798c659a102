"""Signals that notify higher apps. Receivers run inside the sender's transaction."""

from django.dispatch import Signal

texts_erased = Signal()
"""Sent before the text of completions is erased, while their rows are unchanged.

`completions` are their ids (locked; at most erasing.AT_ONCE), and `deleted` says whether their rows will be deleted
too. A receiver removes the text from what it stores, or marks that as erased.
"""

score_deleted = Signal()
"""Sent when scores are deleted together with the rewards that include them.

`completions` are the completions that the scores belong to; they are locked.
"""
