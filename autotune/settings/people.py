"""Settings of people: logins, sessions, cookies, second factors, lockout and single sign-on (docs/people.md)."""

from datetime import timedelta
from hashlib import sha256

from django.core.exceptions import ImproperlyConfigured

from autotune.environment import one_of, secret
from autotune.settings.base import HTTPS, PUBLIC_URL, env

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
LOGIN_REDIRECT_URL = "home"
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
ACCOUNT_FORMS = {"reset_password_from_key": "autotune.access.accounts.forms.PasswordResetForm"}
MFA_ADAPTER = "autotune.access.accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Autotune"
MFA_TOTP_TOLERANCE = 1  # clocks differ
MFA_FORMS = {
    "authenticate": "autotune.access.accounts.forms.SecondFactorCodeForm",
    "reauthenticate": "autotune.access.accounts.forms.ReauthenticationCodeForm",
    "activate_totp": "autotune.access.accounts.forms.SecondFactorSetupForm",
}
AUTOTUNE_REQUIRE_SECOND_FACTOR = one_of("AUTOTUNE_REQUIRE_SECOND_FACTOR", ("off", "admins", "all"))
AXES_USERNAME_CALLABLE = "autotune.access.accounts.lockout.login_name"
AXES_CLIENT_IP_CALLABLE = "autotune.access.accounts.lockout.address"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "access/accounts/locked.html"
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
