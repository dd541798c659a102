"""Admin pages of runs, scores and rewards: records, shown and not changed. Runs can be retried and cancelled."""

from scores import callback_admin, retention_admin, review_admin  # noqa: F401 - each of these registers its pages
from scores.admin import completions, counters, figures, pulses, rewards, runs, scores  # noqa: F401
from scores.live import admin as admin_of_live  # noqa: F401
