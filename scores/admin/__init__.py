"""Admin pages of runs, scores and rewards: records, shown and not changed. Runs can be retried and cancelled."""

# Each of these registers its pages.
from scores.admin import completions, counters, figures, pulses, rewards, runs, scores  # noqa: F401
from scores.callbacks import admin as callbacks_admin  # noqa: F401
from scores.live import admin as live_admin  # noqa: F401
from scores.retention import admin as retention_admin  # noqa: F401
from scores.reviews import admin as reviews_admin  # noqa: F401
from scores.workflow_runs import admin as failed_attempts_admin  # noqa: F401
