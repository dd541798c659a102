"""Ready commands that submit a completion to a task."""

import json
import shlex
from dataclasses import dataclass
from itertools import islice
from typing import Final

from django.conf import settings

from tasks import templates

MODEL: Final = "my-model"
MOST: Final = 100  # variables that a command shows


@dataclass(frozen=True, slots=True)
class TaskSnippets:
    curl: str
    python: str


def of(task_id: str, template: str) -> TaskSnippets:
    """Return both commands with the task's variables. They read the API key from the environment."""
    variables = dict.fromkeys(islice(templates.variables(template), MOST), "…")
    content: dict[str, object] = {"variables": variables} if variables else {"prompt": "…"}
    return TaskSnippets(_curl(task_id, content), _python(task_id, content))


def _curl(task_id: str, content: dict[str, object]) -> str:
    body = json.dumps({"taskId": task_id, "modelId": MODEL, **content, "response": "…"}, indent=2, ensure_ascii=False)
    return (
        f"curl -sS {settings.PUBLIC_URL}/api/v1/completions \\\n"
        '  -H "Authorization: Bearer $AUTOTUNE_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(body)}"
    )


def _python(task_id: str, content: dict[str, object]) -> str:
    name, value = next(iter(content.items()))
    return f"""import os

from autotune_sdk import AutotuneClient

with AutotuneClient(os.environ["AUTOTUNE_API_KEY"], {_quoted(settings.PUBLIC_URL)}) as client:
    sent = client.completions.submit(
        task_id={_quoted(task_id)},
        model_id={_quoted(MODEL)},
        {name}={_quoted(value)},
        response="…",
    )
    result = client.completions.wait_for_score(sent.completion.id)
    print(result.status, result.value)"""


def _quoted(value: object) -> str:
    """A text, or a dict of texts, as Python writes it with double quotes."""
    return json.dumps(value, ensure_ascii=False)
