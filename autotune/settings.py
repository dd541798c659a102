"""Settings, read from the environment and safe when it is empty. Every variable is documented in `.env.example`."""

import os
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import urlsplit

import environ
from celery.schedules import crontab, schedule
from django.core.exceptions import ImproperlyConfigured

from autotune.core.crypto import keyproviders, masterkeys
from autotune.environment import (
    allowances,
    broker_tls,
    bucket,
    kept_secret,
    listed,
    networks,
    one_of,
    secret,
    secret_path,
    whole_number,
)

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.str("AUTOTUNE_DATA_DIR", default="") or BASE_DIR / "var").resolve()

DATABASE_URL = secret("DATABASE_URL")
REDIS_URL = secret("REDIS_URL")
PRODUCTION = bool(DATABASE_URL)
DEBUG = (env.str("DEBUG", default="") or "0").lower() in env.BOOLEAN_TRUE_STRINGS
PORT = int(env.str("PORT", default="") or 8000)
PUBLIC_URL = (env.str("AUTOTUNE_PUBLIC_URL", default="") or f"http://localhost:{PORT}").rstrip("/")
if not urlsplit(PUBLIC_URL).hostname or urlsplit(PUBLIC_URL).scheme not in {"http", "https"}:
    raise ImproperlyConfigured("AUTOTUNE_PUBLIC_URL must be an http:// or https:// address.")
HTTPS = PUBLIC_URL.startswith("https://")
LIVE_URL = (env.str("AUTOTUNE_LIVE_URL", default="") or PUBLIC_URL).rstrip("/")
if not urlsplit(LIVE_URL).hostname or urlsplit(LIVE_URL).scheme not in {"http", "https"} or "," in LIVE_URL:
    raise ImproperlyConfigured("AUTOTUNE_LIVE_URL must be an http:// or https:// address without a comma.")

SECRET_KEY = kept_secret(
    "SECRET_KEY", data_dir=DATA_DIR, required=PRODUCTION, hint="a random text of 50 characters or more."
)
AUTOTUNE_KEY_PROVIDER = env.str("AUTOTUNE_KEY_PROVIDER", default="") or keyproviders.LOCAL
if AUTOTUNE_KEY_PROVIDER == keyproviders.LOCAL:
    AUTOTUNE_ENCRYPTION_KEYS = kept_secret(
        "AUTOTUNE_ENCRYPTION_KEYS", data_dir=DATA_DIR, required=PRODUCTION, hint="`id:64 hex digits`, comma-separated."
    )
    masterkeys.parse(AUTOTUNE_ENCRYPTION_KEYS)  # a bad one stops the start, not the first text
else:
    AUTOTUNE_ENCRYPTION_KEYS = ""  # the key provider has them
AUTOTUNE_ENCRYPTION_KEYS_PATH = secret_path("AUTOTUNE_ENCRYPTION_KEYS", data_dir=DATA_DIR)
AUTOTUNE_OUTBOUND_ALLOW = allowances("AUTOTUNE_OUTBOUND_ALLOW")  # former name; not for webhooks
AUTOTUNE_OUTBOUND_ALLOW_GRADERS = allowances("AUTOTUNE_OUTBOUND_ALLOW_GRADERS") or AUTOTUNE_OUTBOUND_ALLOW
AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = allowances("AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS")
AUTOTUNE_OUTBOUND_ALLOW_IDENTITY = allowances("AUTOTUNE_OUTBOUND_ALLOW_IDENTITY") or AUTOTUNE_OUTBOUND_ALLOW
AUTOTUNE_TRUSTED_PROXIES = networks("AUTOTUNE_TRUSTED_PROXIES")
AUTOTUNE_METRICS_NETWORKS = networks("AUTOTUNE_METRICS_NETWORKS")
ALLOWED_HOSTS = listed("ALLOWED_HOSTS") or [
    "localhost", "127.0.0.1", "[::1]", *{str(urlsplit(url).hostname) for url in (PUBLIC_URL, LIVE_URL)},
]  # fmt: skip

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
    "exports",
    "autotune.site",
]
MIDDLEWARE = [
    "autotune.core.api.middleware.RequestIdMiddleware",
    "autotune.core.api.middleware.TrustedProxyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "autotune.site.headers.HeadersMiddleware",
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

# --- people and sessions --------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "access.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "name")},
    },
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: it rejects callers that guessed too often
    "allauth.account.auth_backends.AuthenticationBackend",
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "account"
SESSION_ENGINE = "autotune.access.accounts.sessions"
SESSION_COOKIE_AGE = 12 * 3600  # a working day
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
if HTTPS:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^api/v1/(health|ready|moving|metrics)$"]  # probes of an orchestrator come by plain http
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

ACCOUNT_ADAPTER = "autotune.access.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"  # an invitation proves the mailbox, and there is no other sign-up
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Autotune: "
ACCOUNT_SESSION_REMEMBER = True  # SESSION_COOKIE_AGE, whatever the browser does
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
# By all addresses together; of one address five failures are enough for AXES below.
ACCOUNT_RATE_LIMITS = {
    "login": "30/m/ip", "login_failed": "20/h/key", "reset_password": "20/h/ip,3/h/key",
    "reset_password_from_key": "20/m/ip", "change_password": "5/m/user", "reauthenticate": "10/m/user",
}  # fmt: skip
ACCOUNT_FORMS = {"reset_password_from_key": "autotune.access.accounts.forms.ResetForm"}
MFA_ADAPTER = "autotune.access.accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Autotune"
MFA_TOTP_TOLERANCE = 1  # clocks differ
MFA_FORMS = {
    "authenticate": "autotune.access.accounts.forms.CodeForm",
    "reauthenticate": "autotune.access.accounts.forms.CodeAgainForm",
    "activate_totp": "autotune.access.accounts.forms.SetUpForm",
}
AUTOTUNE_REQUIRE_SECOND_FACTOR = one_of("AUTOTUNE_REQUIRE_SECOND_FACTOR", ("off", "admins", "all"))
AXES_USERNAME_CALLABLE = "autotune.access.accounts.lockout.login_name"
AXES_CLIENT_IP_CALLABLE = "autotune.access.accounts.lockout.address"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "account/locked.html"
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "login", "password", "csrfmiddlewaretoken"]
AXES_DISABLE_ACCESS_LOG = True  # the audit log records who logged in
AXES_ENABLE_ADMIN = False  # access/accounts/admin.py shows them
AXES_VERBOSE = False

# --- single sign-on (docs/people.md) ---------------------------------------------------------------------------------
AUTOTUNE_OIDC_ISSUER = env.str("AUTOTUNE_OIDC_ISSUER", default="").strip().rstrip("/")
AUTOTUNE_OIDC_NAME = env.str("AUTOTUNE_OIDC_NAME", default="") or "single sign-on"
# Issuer and subject identify a person, so no link of one issuer is valid for another.
AUTOTUNE_OIDC_ID = f"oidc-{sha256(AUTOTUNE_OIDC_ISSUER.encode()).hexdigest()[:16]}"
SOCIALACCOUNT_ADAPTER = "autotune.access.accounts.adapters.SignOnAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS: dict[str, object] = {}
if AUTOTUNE_OIDC_ISSUER:
    if not env.str("AUTOTUNE_OIDC_CLIENT_ID", default="") or not secret("AUTOTUNE_OIDC_CLIENT_SECRET"):
        raise ImproperlyConfigured(
            "AUTOTUNE_OIDC_ISSUER requires AUTOTUNE_OIDC_CLIENT_ID and AUTOTUNE_OIDC_CLIENT_SECRET."
        )
    _sign_on = {
        "provider_id": AUTOTUNE_OIDC_ID,
        "name": AUTOTUNE_OIDC_NAME,
        "client_id": env.str("AUTOTUNE_OIDC_CLIENT_ID", default=""),
        "secret": secret("AUTOTUNE_OIDC_CLIENT_SECRET"),
        "settings": {"server_url": AUTOTUNE_OIDC_ISSUER, "oauth_pkce_enabled": True},
    }
    SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [_sign_on]}}

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

# --- limits of the API (docs/api.md) --------------------------------------------------------------------------------
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
        "BACKEND": "exports.files.folder.Folder",
        "OPTIONS": {"location": str(DATA_DIR / "exports")},
    }
else:
    _exports = {
        "BACKEND": "exports.files.bucket.Bucket",
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

# --- Celery ---------------------------------------------------------------------------------------------------------
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
    "look-at-damaged": {"task": "core.look_at_damaged", "schedule": schedule(3_600.0), "options": {"expires": 3_600}},
    "reencrypt": {"task": "core.reencrypt", "schedule": schedule(10.0), "options": {"expires": 10}},
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
