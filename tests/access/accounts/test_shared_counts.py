"""Counts of guesses that all processes share (CACHES): filling the store does not clear them."""

import pytest
from django.core.cache import cache

pytestmark = pytest.mark.django_db

USED_CODE = "allauth.mfa.totp.used?user=1&code=123456"


def test_the_counts_of_others_survive_many_made_up_names():
    cache.add(USED_CODE, "y", timeout=90)
    cache.set_many({f"allauth:rl:account:login_failed:20/3600/key:{n:064x}": [1.0] for n in range(350)}, 3600)
    assert cache.get(USED_CODE) == "y"
