"""A completion in a browser: it follows its scoring by itself, and hostile texts run nothing and break nothing."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from scores.models import Reward, WorkflowRun
from tests.factories import CompletionFactory, RunFactory
from tests.support.browsing import PHONE, too_wide, violations

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


def test_it_updates_during_scoring(visitor, browse):
    run = RunFactory(status="running", attempt=1)
    page = browse(visitor("reviewer", run.organization), reverse("completion", args=[run.completion.pk]))
    expect(page.locator("#state")).to_contain_text("under way")
    WorkflowRun.objects.update(status="failed", error_code="timeout")
    Reward.objects.create(
        completion=run.completion, organization=run.organization, task=run.task, value=None, confidence=None,
        aggregation="mean", used=0, failed=1, error_code="timeout",
    )  # fmt: skip
    expect(page.locator("#state")).to_contain_text("No reward: timeout")
    expect(page.locator("#made")).to_contain_text("Answer within the grader's time limit")
    assert page.locator("#state[data-live]").count() == 0
    assert page.console_errors == []


def test_hostile_texts_run_nothing_and_fit_a_phone(visitor, browse):
    text = (
        "<script>document.title='ran'</script>\u202e"
        + "w" * 10_000
        + "\n```html\n<img src=x onerror=\"document.title='ran'\">"
    )
    completion = CompletionFactory(prompt=text, response=text, model_id="m" * 200)
    page = browse(
        visitor("reviewer", completion.organization), reverse("completion", args=[completion.pk]), viewport=PHONE
    )
    assert "ran" not in page.title()
    assert too_wide(page) <= 0
    assert page.console_errors == []


MARKDOWN = """# Solution
### Parts

| | value |
|---|--:|
| $x^2$ | **4** |

1. [notes](https://notes.example/a)
2. ![plot](https://pixel.example/p.png)

$$\\frac{a}{b} = \\sum_{i=1}^{n} i_{wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww}$$

```python
x = 1
```

<h2 id="response-title">Not a heading</h2>
"""


def test_a_response_as_markdown_can_be_read_by_all_and_loads_nothing(visitor, browse):
    completion = CompletionFactory(response=MARKDOWN)
    path = reverse("completion", args=[completion.pk])
    page = browse(visitor("reviewer", completion.organization), path, viewport=PHONE, java_script_enabled=True)
    response = page.locator("#response")
    expect(response.get_by_role("heading", name="Parts")).to_be_visible()
    assert response.locator("math msup").bounding_box()["height"] > 5
    assert page.locator("[id=response-title]").count() == 1
    assert (too_wide(page) <= 0, [*violations(page)], page.console_errors) == (True, [], [])
    response.get_by_role("link", name="Raw").click()
    expect(response).to_contain_text("$$\\frac{a}{b}")
    assert page.url.endswith("?view=raw#response")
