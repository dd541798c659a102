"""`check --deploy` reports settings that contradict each other."""

import pytest

from autotune.site.checks import trusted_proxies


@pytest.mark.parametrize(
    ("https", "proxies", "ids"), [(True, [], ["autotune.W001"]), (True, ["10.0.0.0/8"], []), (False, [], [])]
)
def test_c45_https_without_a_trusted_proxy_causes_a_warning(settings, https, proxies, ids):
    settings.HTTPS, settings.AUTOTUNE_TRUSTED_PROXIES = https, proxies
    assert [message.id for message in trusted_proxies()] == ids
