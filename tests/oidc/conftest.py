"""A real OpenID provider (npm's `oidc-provider`) as a process of its own, and what goes to and from it."""

import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from django.core.cache import cache

from autotune.core.outbound.addresses import parse_allow
from tests.access.accounts.people import browser

HERE = Path(__file__).parent
CLIENT_ID, CLIENT_SECRET = "autotune", "a secret/with+signs="
PEOPLE = {
    "ada": {"email": "Ada@example.org", "email_verified": True, "name": "Ada Example"},
    "uma": {"email": "uma@example.org", "email_verified": False, "name": "Uma Unconfirmed"},
    "sly": {"email": "victim@example.org", "email_verified": "false", "name": "Sly"},
    "nil": {"name": "Nil"},
}


@pytest.fixture(scope="session")
def node():
    """Node with the package; installed at first use."""
    if not shutil.which("npm"):
        if os.environ.get("CI"):
            pytest.fail("npm is missing; CI must have it")
        pytest.skip("no npm")
    if not (HERE / "node_modules/oidc-provider").is_dir():
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], cwd=HERE, check=True, timeout=110
        )
    return shutil.which("node")


ATTEMPTS = 3  # another process may take the free port first


@pytest.fixture
def start(node):
    """`start(redirect_uri)`: the issuer's address; the processes end with the test."""
    running = []

    def make(redirect_uri):
        for _ in range(ATTEMPTS):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            env = {**os.environ, "PORT": str(port), "REDIRECT_URI": redirect_uri, "PEOPLE": json.dumps(PEOPLE)}
            env |= {"CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET}
            process = subprocess.Popen(
                [node, "provider.mjs"], cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            running.append(process)
            if "listening" in process.stdout.readline():
                make.process = process
                return f"http://127.0.0.1:{port}"
        raise AssertionError("the provider does not start")

    yield make
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def trust(settings):
    """`trust(issuer)`: configure it as the environment would."""

    def configure(issuer, secret=CLIENT_SECRET):
        settings.AUTOTUNE_OIDC_ISSUER, settings.AUTOTUNE_OIDC_NAME = issuer, "Example ID"
        settings.AUTOTUNE_OUTBOUND_ALLOW_IDENTITY = parse_allow(f"127.0.0.1/32:{urlsplit(issuer).port}")
        app = {"provider_id": settings.AUTOTUNE_OIDC_ID, "name": "Example ID", "client_id": CLIENT_ID, "secret": secret}
        app["settings"] = {"server_url": issuer, "oauth_pkce_enabled": True}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}

    return configure


@pytest.fixture
def provider(start, trust, settings, db):
    cache.clear()
    issuer = start(f"{settings.PUBLIC_URL}/account/sso/callback")
    trust(issuer)
    return issuer


def depart(client, **more):
    """The address at the provider to which the login page leads."""
    page = client.post("/account/sso/login", more)
    assert page.status_code == 200, page.content.decode()
    return re.search(r'<a class="button" href="([^"]+)"', page.content.decode())[1].replace("&amp;", "&")


def consent(url, subject):
    """Log in at the provider as `subject`; the path and query with which it sends back."""
    with requests.Session() as there:
        answer = there.get(url, allow_redirects=False)
        for _ in range(12):
            if answer.is_redirect:
                url = urljoin(url, answer.headers["Location"])
                if "/account/sso/callback" in url:
                    parts = urlsplit(url)
                    return f"{parts.path}?{parts.query}"
                answer = there.get(url, allow_redirects=False)
                continue
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)[1]
            action = re.search(r'action="([^"]+)"', answer.text)[1]
            url = urljoin(url, action)
            body = {"prompt": prompt, "login": subject, "password": "x"}
            answer = there.post(url, data=body, allow_redirects=False)
    raise AssertionError("the provider does not send back")


@pytest.fixture
def arrive(provider):
    """`arrive(subject)`: (client, answer) after a whole round of single sign-on."""

    def go(subject, client=None, **more):
        client = client or browser()
        back = consent(depart(client, **more), subject)
        return client, client.get(back)

    return go
