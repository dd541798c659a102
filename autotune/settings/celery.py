"""Settings of Celery: the broker, and the schedule of periodic jobs."""

from celery.schedules import crontab, schedule

from autotune.environment import broker_tls
from autotune.settings.base import DATA_DIR, REDIS_URL

# A message is a hint and may be lost: publishing never retries and gives up soon; a broker that is away costs nothing.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # the default of 100 would end a worker after an hour without its broker
CELERY_TASK_DEFAULT_QUEUE = "autotune"
CELERY_TIMEZONE = "UTC"
if REDIS_URL:
    CELERY_BROKER_USE_SSL = broker_tls(REDIS_URL)
    CELERY_BROKER_URL = REDIS_URL.partition("?")[0] if CELERY_BROKER_USE_SSL else REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "socket_timeout": 5,
        "socket_connect_timeout": 0.2,
        "max_retries": 0,
        "visibility_timeout": 3600,
    }
else:
    _broker = DATA_DIR / "broker"
    for _folder in ("messages", "processed", "control"):
        (_broker / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_URL = "autotune-files://"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker / "messages"),
        "data_folder_out": str(_broker / "messages"),
        "processed_folder": str(_broker / "processed"),
        "control_folder": str(_broker / "control"),
        "store_processed": False,
        "polling_interval": 0.05,
    }
    CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BEAT_SCHEDULER = "autotune.site.servers.beat:Scheduler"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "scores.sweep", "schedule": schedule(5.0), "options": {"expires": 5}},
    "deliver-webhooks": {"task": "webhooks.deliver", "schedule": schedule(5.0), "options": {"expires": 5}},
    "clean-up-webhooks": {"task": "webhooks.clean_up", "schedule": crontab(hour="3", minute="37")},
    "fold-statistics": {"task": "graders.fold_statistics", "schedule": schedule(30.0), "options": {"expires": 30}},
    "check-health": {"task": "graders.check_health", "schedule": schedule(300.0), "options": {"expires": 300}},
    "clean-up-graders": {"task": "graders.clean_up", "schedule": schedule(86_400.0)},
    "clean-up-scores": {"task": "scores.clean_up", "schedule": schedule(86_400.0)},
    "fold-counters": {"task": "scores.fold_counters", "schedule": schedule(15.0), "options": {"expires": 15}},
    "erase": {"task": "scores.erase", "schedule": schedule(60.0), "options": {"expires": 60}},
    "retain": {"task": "scores.retain", "schedule": schedule(3_600.0), "options": {"expires": 3_600}},
    "fill-digests": {"task": "tasks.fill_digests", "schedule": schedule(60.0), "options": {"expires": 60}},
    "seal-audit": {"task": "access.seal_audit", "schedule": schedule(5.0), "options": {"expires": 5}},
    "clean-up-access": {"task": "access.clean_up", "schedule": crontab(hour="3", minute="7")},
    "run-exports": {"task": "exports.run", "schedule": schedule(10.0), "options": {"expires": 10}},
    "expire-exports": {"task": "exports.expire", "schedule": schedule(600.0), "options": {"expires": 600}},
    "clean-up-exports": {"task": "exports.clean_up", "schedule": crontab(hour="3", minute="22")},
    "delete-repaired-damage": {
        "task": "core.delete_repaired_damage",
        "schedule": schedule(3_600.0),
        "options": {"expires": 3_600},
    },
    "reencrypt": {"task": "core.reencrypt", "schedule": schedule(10.0), "options": {"expires": 10}},
}
