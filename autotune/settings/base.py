"""What other settings are derived from: folders, addresses, secrets, and whom the server trusts and calls."""

from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from autotune.core.crypto import keyproviders, masterkeys
from autotune.environment import allowances, kept_secret, listed, networks, secret, secret_path

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent.parent
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
