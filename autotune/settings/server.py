"""Settings of the server: its apps, its database, its pages, its API and the limits of both, and its logs."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from autotune.environment import bucket, one_of, secret, whole_number
from autotune.settings.base import BASE_DIR, DATA_DIR, DATABASE_URL, PRODUCTION, PUBLIC_URL, env

INSTALLED_APPS = [
    "autotune.access.overrides",  # first, so that its commands override Django's
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "autotune.core",
    "autotune.charts",
    "autotune.access",
    "autotune.webhooks",
    "graders",
    "tasks",
    "scores",
    "scores.feedback",
    "exports",
    "autotune.site",
]
MIDDLEWARE = [
    "autotune.core.api.middleware.RequestIdMiddleware",
    "autotune.core.api.middleware.TrustedProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "autotune.core.api.middleware.HeadersMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "autotune.access.audit.middleware.AuditMiddleware",
    "autotune.core.api.middleware.ProblemMiddleware",
    "autotune.core.api.middleware.MethodMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "autotune.access.accounts.requirement.SecondFactorMiddleware",
    "autotune.core.api.middleware.BodyMiddleware",
]
ROOT_URLCONF = "autotune.urls"
WSGI_APPLICATION = "autotune.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "autotune.access.accounts.context.sign_on",
                "autotune.access.frame.context.frame",
            ]
        },
    }
]

# --- database -------------------------------------------------------------------------------------------------------
# A pool for each process; a thread holds a connection only while it works (CONN_MAX_AGE 0).
DB_POOL_SIZE = int(env.str("AUTOTUNE_DB_POOL_SIZE", default="") or 12)
if PRODUCTION:
    _database = env.db_url_config(DATABASE_URL)
    if "postgresql" not in _database["ENGINE"]:
        raise ImproperlyConfigured("DATABASE_URL must be a postgres:// address; without it the server runs on SQLite.")
    _database["ENGINE"] = "autotune.core.postgresql"  # whose pool notices an outage and its end (docs/reliability.md)
    _database["OPTIONS"] = {
        # A connection attempt notices a silently vanished host after 2 s, a statement after 11 s.
        # The address may override these: postgres://…/autotune?connect_timeout=5
        "connect_timeout": 2,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 11_000,
        **_database.get("OPTIONS", {}),
        "pool": {"min_size": 1, "max_size": DB_POOL_SIZE, "timeout": 10},  # a caller waits 10 s for a busy pool
    }
else:
    _database = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(DATA_DIR / "autotune.sqlite3"),
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        },
    }
DATABASES = {"default": {**_database, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}}
if not PRODUCTION:  # a file, as in service: in memory, threads would share one cache and its table locks
    DATABASES["default"]["TEST"] = {"NAME": str(Path(gettempdir()) / f"autotune-test-{os.getpid()}.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Counts that all processes share: guesses at logins and codes. In the database, so that no broker is needed.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "access_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},  # with Django's 300 some made-up names would flush the counts of others
    }
}

# --- what pages may load: only files of our own, no inline scripts or styles ------------------------------------------
CSRF_FAILURE_VIEW = "autotune.site.failures.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"], "script-src": ["'self'"], "style-src": ["'self'"],
        "img-src": ["'self'", "data:"], "font-src": ["'self'"], "connect-src": ["'self'"], "object-src": ["'none'"],
        "base-uri": ["'none'"], "form-action": ["'self'"], "frame-ancestors": ["'none'"],
    }
}  # fmt: skip

# --- mail: what concerns people, such as a webhook that was disabled --------------------------------------------------
# Without a server mails are written to the standard output, where the logs go.
vars().update(env.email_url_config(secret("AUTOTUNE_EMAIL_URL") or "consolemail://"))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("AUTOTUNE_EMAIL_FROM", default="") or f"autotune@{urlsplit(PUBLIC_URL).hostname}"

# --- text, time, static files ---------------------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
FORMAT_MODULE_PATH = "autotune.formats"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
with suppress(OSError):  # whitenoise warns at each start while there is none
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
APPEND_SLASH = False

# --- limits of the API (docs/api/) -----------------------------------------------------------------------------------
MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024
MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_DEPTH = 16
MAX_BATCH_COMPLETIONS = 10_000
MAX_LIVE_ITEMS = 1_000
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
LONG_POLL_MAX_WAITERS = 48
LIVE_MAX_CALLS = 10_000  # that a process `live` holds at once
LIVE_MAX_BYTES = 512 * 1024 * 1024  # of their bodies
LIVE_COUNTS_EVERY_S = 5.0  # how often the counts of reward endpoints are saved; 0: at once
FOUNDRY_GRADER = one_of("AUTOTUNE_FOUNDRY_GRADER", ("off", "on")) == "on"  # whose shape is a private preview
KEY_RATE_PER_MINUTE = whole_number("AUTOTUNE_KEY_RATE_PER_MINUTE", 6_000, least=0, most=1_000_000)  # 0: no limit
FAILURE_RATE_PER_MINUTE = 60  # requests of one address without a valid key or session

# --- waits ----------------------------------------------------------------------------------------------------------
# protocol section 3: 1 minute to 30 days
CALLBACK_DEADLINE_S = whole_number("AUTOTUNE_CALLBACK_DEADLINE_S", 7 * 86_400, least=60, most=30 * 86_400)
REVIEW_DAYS = whole_number("AUTOTUNE_REVIEW_DAYS", 30, most=365)  # then a run that waits for a person fails

# --- hosted graders: child processes that judge ---------------------------------------------------------------------
JUDGE_PROCESSES = whole_number("AUTOTUNE_JUDGE_PROCESSES", 0, least=0, most=256)  # of each worker; 0: one for each core
JUDGE_MEMORY_BYTES = whole_number("AUTOTUNE_JUDGE_MEMORY_MIB", 1_024, least=256, most=65_536) * 2**20

# --- export jobs (docs/export-jobs.md) --------------------------------------------------------------------------------
EXPORT_DAYS = whole_number("AUTOTUNE_EXPORT_DAYS", 7, most=365)  # then the files are deleted
EXPORT_PART_ROWS = whole_number("AUTOTUNE_EXPORT_PART_ROWS", 100_000, most=10_000_000)
EXPORT_PART_BYTES = whole_number("AUTOTUNE_EXPORT_PART_MIB", 256, most=4_096) * 2**20
EXPORTS_WAITING = 20  # of one organization, the running ones too; more are refused
EXPORTS_RUNNING = 2  # of one organization at the same time
EXPORT_SCRATCH = DATA_DIR / "scratch"  # a part on its way to the storage, sealed already
EXPORT_STORAGE = bucket("AUTOTUNE_EXPORT_STORAGE")
if EXPORT_STORAGE is None:
    _exports: dict[str, object] = {
        "BACKEND": "exports.files.folder.FolderStorage",
        "OPTIONS": {"location": str(DATA_DIR / "exports")},
    }
else:
    _exports = {
        "BACKEND": "exports.files.bucket.BucketStorage",
        "OPTIONS": {
            "bucket_name": EXPORT_STORAGE[0],
            "location": EXPORT_STORAGE[1],
            "endpoint_url": env.str("AUTOTUNE_EXPORT_S3_ENDPOINT", default="") or None,
            "region_name": env.str("AUTOTUNE_EXPORT_S3_REGION", default="") or None,
            "access_key": secret("AUTOTUNE_EXPORT_S3_KEY_ID") or None,
            "secret_key": secret("AUTOTUNE_EXPORT_S3_SECRET_KEY") or None,
        },
    }
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "exports": _exports,
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "autotune.access.authentication.BearerAuthentication",
        "autotune.access.authentication.WebSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "autotune.core.api.openapi.OperationSchema",
    "EXCEPTION_HANDLER": "autotune.core.api.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_VERSIONING_CLASS": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Autotune API",
    "DESCRIPTION": "Scores of model completions by graders whose logic stays private.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "AUTHENTICATION_WHITELIST": [],
    "POSTPROCESSING_HOOKS": ["autotune.core.api.openapi.add_components"],
    "PREPROCESSING_HOOKS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False},
}

# --- logs -----------------------------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request": {"()": "autotune.core.api.middleware.RequestIdFilter"},
        "redaction": {"()": "autotune.core.logs.RedactionFilter"},
        "refusals": {"()": "autotune.core.logs.RepeatFilter", "statuses": (503,)},
    },
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request", "redaction"]},
    },
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="") or "INFO"},
    "loggers": {
        "django.request": {"level": "ERROR", "filters": ["refusals"]},  # one line a minute while the database is away
        "psycopg.pool": {"level": "ERROR"},  # autotune.core.postgresql reports its warnings once
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},  # an idle worker would write a line for each sweep
        "celery.beat": {"level": "WARNING"},
        "axes": {"level": "ERROR"},  # the audit log has the same with more detail
    },
}
