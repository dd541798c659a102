import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _forget_guesses(request):
    """Counts of guesses stay over tests that commit: the cache is no model and is not flushed with them."""
    if request.node.get_closest_marker("django_db") or {"db", "transactional_db"} & set(request.fixturenames):
        request.getfixturevalue("db")
        cache.clear()
