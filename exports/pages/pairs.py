"""The page that shows a sample of a task's preference pairs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access import policy
from autotune.access.audit import current_call
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import markdown
from autotune.core.markdown import RenderedText
from autotune.core.pages.forms import BodyForm
from exports.pages.forms import STRATEGIES, UnitIntervalField, WholeNumberField
from exports.pairs import sample
from exports.pairs.requests import PairsRequest
from exports.pairs.sample import MessageOut, PairOut
from exports.reading import left_out
from exports.requests import CAPPED, MAX_CAP
from scores.results import choices
from scores.results.choices import IdField

SIZES = (10, 25, 50)
SHOWN: Final = 20_000  # characters shown of each prompt and response


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair as the page shows it, and the margin between its two scores."""

    pair: PairOut
    prompt: RenderedText
    chosen: RenderedText
    rejected: RenderedText

    @property
    def margin(self) -> float:
        return self.pair.chosen_score - self.pair.rejected_score


class PairsForm(BodyForm):
    """The form of `POST /preference-pairs`, with the API's names; the address holds the choices."""

    task_id = IdField(label="Task")
    model_id = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "models", "spellcheck": "false"}),
    )
    min_score_delta = UnitIntervalField(label="Minimum reward difference")
    strategy = forms.ChoiceField(label="Which pairs", choices=list(STRATEGIES.items()), required=False)
    cap_per_prompt = WholeNumberField(
        label="Maximum pairs per prompt", most=MAX_CAP, help_text="Default: 1,000; random: 1."
    )
    seed = WholeNumberField(label="Seed", help_text="Change it to draw another sample.")
    conversational = forms.BooleanField(label="Include conversations of several messages", required=False)
    sample_size = forms.TypedChoiceField(
        label="Shown", choices=[(str(size), f"{size} pairs") for size in SIZES], coerce=int, required=False
    )

    def __init__(self, parameters: Any, principal: Principal) -> None:
        first = {"minScoreDelta": "0.1", "strategy": "best_worst", "sampleSize": str(SIZES[0])}
        super().__init__({**first, **{name: str(value) for name, value in parameters.items() if value}})
        task: Any = self.fields["task_id"]
        task.offer(choices.tasks(principal), none="Choose a task")
        task.keep(str(parameters.get("taskId", "")))

    def add_prefix(self, field_name: str) -> str:
        return self.pointer(field_name).removeprefix("/")

    def values(self) -> dict[str, Any]:
        values = {"minScoreDelta": 0.0, "sampleSize": SIZES[0], **super().values()}
        if values.get("strategy") not in CAPPED:
            values.pop("capPerPrompt", None)
        return values

    def as_export(self) -> dict[str, Any]:
        """Return the same choices as parameters of an export."""
        export_choices = {"layout": "preferences", **self.values()}
        export_choices.pop("sampleSize")
        if export_choices.get("strategy") != "random":
            export_choices.pop("seed", None)
        return export_choices


@page(("preference_pairs", "create"))
def pairs(request: PageRequest) -> HttpResponse:
    """Show the form and, once a task is chosen, a sample of its pairs. The address holds the choices."""
    form = PairsForm(request.GET, request.principal)
    has_task = bool(request.GET.get("taskId"))
    raw = markdown.is_raw(request.GET)
    if not has_task:
        form.errors.clear()
    answer = _answer(request, form) if has_task else None
    context = {
        "title": "Preference pairs",
        "form": form,
        "asked": has_task,
        "answer": answer,
        "rows": _pair_rows(answer.pairs, raw=raw) if answer else [],
        "raw": raw,
        "left_out": left_out.sentences(answer.left_out_by_reason, "preferences") if answer else [],
        "models": choices.models(request.principal),
        "export": f"{reverse('export_new')}?{urlencode(form.as_export())}" if answer else "",
        "may_export": policy.reach(request.principal, "exports", "create") is not None,
    }
    return render(request, "exports/pairs.html", context)


def _answer(request: PageRequest, form: PairsForm) -> sample.PairsOut | None:
    """Return the sample, or None if the form is invalid; then it shows the errors.

    The audit log stores the task and how many pairs were shown.
    """
    if not form.is_valid():
        return None
    try:
        body = form.body(PairsRequest)
        pairs_out = sample.answer(request.principal, body)
    except AutotuneError as exc:
        form.refuse(exc)
        return None
    current_call.about(str(body.task_id), objects_count=len(pairs_out.pairs))
    return pairs_out


def _pair_rows(pairs: Sequence[PairOut], *, raw: bool) -> list[PairRow]:
    texts = [_text(turns) for pair in pairs for turns in (pair.chosen, pair.rejected)]
    if raw:
        answers = [markdown.plain(text, limit=SHOWN) for text in texts]
    else:
        answers = markdown.answers(texts, limit=SHOWN, heading=4)
    prompts = [markdown.plain(_text(pair.prompt), limit=SHOWN) for pair in pairs]
    return [PairRow(*row) for row in zip(pairs, prompts, answers[::2], answers[1::2], strict=True)]


def _text(turns: str | list[MessageOut]) -> str:
    """Return a conversation as readable text. An answer, which has one turn, is shown without its role."""
    if isinstance(turns, str):
        return turns
    if len(turns) == 1:
        return turns[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in turns)
