"""Settings that do not go together are named by `check --deploy`."""

import pytest

from autotune.site.checks import trusted_proxies


@pytest.mark.parametrize(
    ("https", "proxies", "ids"), [(True, [], ["autotune.W001"]), (True, ["10.0.0.0/8"], []), (False, [], [])]
)
def test_c45_https_without_a_trusted_proxy_is_warned_of(settings, https, proxies, ids):
    settings.HTTPS, settings.AUTOTUNE_TRUSTED_PROXIES = https, proxies
    assert [message.id for message in trusted_proxies()] == ids
