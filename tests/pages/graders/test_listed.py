"""Other organizations see the same of a listed grader on its card, on its page, in the API and in the docs."""

import re
from pathlib import Path

import pytest

from autotune.core.pages.formats import duration, percent
from graders.models import GraderVersion
from graders.statistics.marketplace import PublicFigures, volume
from tests.factories import public
from tests.support.markup import compact

PRIVACY = (Path(__file__).resolve().parents[3] / "docs/privacy.md").read_text(encoding="utf-8")
DOCUMENTED = {"volume": "totalScored", "error rate": "errorRate", "p50": "p50LatencyMs", "p99": "p99LatencyMs"}


@pytest.fixture
def measured(listed, counted):
    """The listed grader after 4,321 scores in two speeds, 500 failures, and a second version."""
    counted(listed, [0.25] * 4000, {"timeout": 400, "bad_signature": 100}, latency_ms=120.0)
    counted(listed, [0.75] * 321, {}, latency_ms=2500.0)
    listed.version = GraderVersion.objects.create(grader=listed, label="secret-build-7")
    listed.save(update_fields=["version"])
    return listed


@pytest.fixture
def operator(visitor):
    return visitor("training_operator")


@pytest.fixture
def api(api_for, operator):
    return api_for(organization=operator.organization, role="training_operator")


def pairs(html):
    """{name: value} of the definition lists in a part of a page, without notes."""
    html = re.sub(r'<span class="note">.*?</span>', "", compact(html))
    return dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]*)</dd>", html))


def card(operator, grader):
    text = operator.get("/marketplace").content.decode()
    return next(part for part in text.split('<li class="panel">') if grader.name in part)


def page(operator, grader, query="?window=24h"):
    return operator.get(f"/graders/{grader.public_id}{query}").content.decode()


def api_figures(api, grader, window="24h"):
    return api.get(f"/graders/{public('grader', grader)}/stats?window={window}").json()


def as_shown(stats):
    """The figures of the API, as pages write them."""
    figures = PublicFigures(
        volume=stats["totalScored"],
        error_rate=stats["errorRate"],
        p50_ms=stats["p50LatencyMs"],
        p99_ms=stats["p99LatencyMs"],
    )
    return {
        "Scored": figures.volume_words,
        "Error rate": percent(figures.error_rate),
        "p50": duration(figures.p50_ms),
        "p99": duration(figures.p99_ms),
    }


def documented():
    """The first column of the table in docs/privacy.md, as separate names."""
    section = PRIVACY.partition("## What the marketplace shows")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!what |---)([^|]+) \|", section, re.MULTILINE)
    return [name for row in rows for name in row.split(", ")]


def test_card_page_and_api_show_the_same_figures(operator, api, measured):
    stats = api_figures(api, measured)
    shown = as_shown(stats)
    assert (shown["Scored"], shown["Error rate"]) == ("over 1,000", "10.4 %")
    assert stats["p50LatencyMs"] == pytest.approx(120, rel=0.05)
    assert stats["p99LatencyMs"] == pytest.approx(2500, rel=0.05)
    assert pairs(card(operator, measured)) == shown
    assert pairs(page(operator, measured)) == shown


def test_the_docs_list_what_the_api_shows(api, measured):
    figures = {name for name, value in api_figures(api, measured).items() if value not in (None, [])}
    grader = api.get(f"/graders/{public('grader', measured)}").json()["grader"]
    members = {name for name, value in grader.items() if value is not None}
    assert grader["capabilities"] == dict.fromkeys(grader["capabilities"]) | {"domains": ["maths"]}
    facts = members - {"capabilities", "id", "kind", "owner", "visibility", "createdAt", "updatedAt"} | {"domains"}
    assert {DOCUMENTED.get(name, name) for name in documented()} == figures | facts


def test_card_and_page_show_the_documented_facts(operator, measured):
    for text in (
        card(operator, measured),
        page(operator, measured) + operator.get(f"/graders/{measured.public_id}/settings").content.decode(),
    ):
        for value in (measured.name, measured.description, measured.domains[0], "active"):
            assert value in text


def test_nothing_exact_is_shown(operator, api, measured):
    api_text = "".join(
        api.get(f"/graders/{public('grader', measured)}{part}").content.decode()
        for part in ("", "/stats", "/health", "/versions")
    )
    for text in (card(operator, measured), page(operator, measured), api_text):
        for hidden in (
            "4321",
            "4,321",
            "4,000",
            "0.103",
            "secret-build-7",
            "timeout",
            "bad_signature",
            "graderv_",
            '<svg class="chart',
        ):
            assert hidden not in text, hidden


def test_versions_and_health_are_empty(api, measured):
    path = f"/graders/{public('grader', measured)}"
    versions = api.get(f"{path}/versions").json()
    assert (versions["versions"], versions["pagination"]["total"]) == ([], 0)
    assert api.get(f"{path}/health").json()["checks"] == []


def test_its_own_organization_sees_exact_figures(api_for, visitor, measured):
    own = api_for(organization=measured.organization)
    assert api_figures(own, measured)["totalScored"] == 4321
    assert len(own.get(f"/graders/{public('grader', measured)}/versions").json()["versions"]) == 2
    assert "4,321" in page(visitor("organization_admin", measured.organization), measured)


@pytest.mark.parametrize("window", ["1h", "7d", "30d", "all"])
def test_page_and_api_agree_for_every_period(operator, api, measured, window):
    assert pairs(page(operator, measured, f"?window={window}")) == as_shown(api_figures(api, measured, window))


def test_a_grader_that_scored_nothing_has_no_figures(operator, api, listed):
    shown = {"Scored": "up to 100", "Error rate": "–", "p50": "–", "p99": "–"}
    assert as_shown(api_figures(api, listed)) == pairs(card(operator, listed)) == pairs(page(operator, listed)) == shown


@pytest.mark.parametrize(
    ("scored", "rounded", "words"),
    [
        (0, 0, "up to 100"),
        (100, 0, "up to 100"),
        (101, 100, "over 100"),
        (1_000, 100, "over 100"),
        (2_000_000, 1_000_000, "over 1,000,000"),
    ],
)
def test_the_volume_is_rounded_down(scored, rounded, words):
    assert volume(scored) == rounded
    assert PublicFigures(volume(scored), None, None, None).volume_words == words
