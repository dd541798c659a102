"""GET /graders/:id/health."""

from tests.factories import SECRET


def test_health_shows_checks_and_changes_the_newest_first(owner, path, serve, point_at, verify):
    live = serve(SECRET)
    point_at(live.url)
    verify(owner, path)
    live.kit.status = "unhealthy"
    verify(owner, path)
    body = owner.get(f"{path}/health").json()
    assert body["status"] == "degraded"
    assert [check["name"] for check in body["checks"]][-4:] == ["score", "capabilities", "clock", "health"]
    assert body["checks"][-1]["clockSkewS"] is not None
    assert [(c["previousStatus"], c["currentStatus"]) for c in body["statusChanges"]] == [
        ("active", "degraded"),
        ("inactive", "active"),
    ]
    assert "unhealthy" in body["statusChanges"][0]["reason"]


def test_health_hides_all_but_the_status_from_other_organizations(api_for, owner, path, serve, point_at, verify):
    point_at(serve(SECRET).url, visibility="listed")
    verify(owner, path)
    body = api_for(role="training_operator").get(f"{path}/health").json()
    assert body.pop("status") == "active"
    assert (body.pop("checks"), body.pop("statusChanges")) == ([], [])
    assert set(body.values()) == {None}


def test_health_is_404_for_strangers_and_401_without_a_key(api_for, owner, path):
    assert api_for(role="organization_admin").get(f"{path}/health").status_code == 404
    assert owner.get(f"{path}/health?limit=1").status_code == 400
    owner.key = None
    assert owner.get(f"{path}/health").status_code == 401
