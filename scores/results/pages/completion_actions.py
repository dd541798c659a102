"""Score a completion again, or erase its text. Each action has a page that says what will happen."""

from uuid import UUID

from django import forms
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting, navigation
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.pages.forms import BodyForm
from scores.intake import rescoring
from scores.results.names import ObjectNames
from scores.retention import deleting
from tasks.models import Completion, PanelMember
from tasks.states import PanelPart

WRITES = ("GET", "HEAD", "POST")


class ConfirmationForm(BodyForm):
    """A form that is confirmed by its button."""


class TypedConfirmationForm(BodyForm):
    """A form for an action that cannot be undone: the user types a word to confirm it."""

    word = "erase"
    typed = forms.CharField(max_length=20, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}))

    def __init__(self, *args: object, word: str = "", **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.word = word or self.word
        self.fields["typed"].label = f"Type “{self.word}” to confirm"

    def clean_typed(self) -> str:
        typed = self.cleaned_data["typed"].strip().lower()
        if typed != self.word:
            raise forms.ValidationError(f"Type “{self.word}” to confirm.")
        return typed


@page(("completions", "create"), methods=WRITES)
def rescore(request: PageRequest, completion_id: UUID) -> HttpResponseBase:
    """Score the completion again with the current versions of its graders."""
    acting.concerns("completions", "create", ids.encode("comp", completion_id))
    textless = Completion.objects.defer("prompt", "response", "messages", "metadata", "variables")
    row = find_for(textless, request.principal, completion_id, "create", "completion")
    form = ConfirmationForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(
                request, lambda: rescoring.rescore(completion_id, request.principal), toast="Scoring has started again."
            )
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("completion", completion_id)
    members = list(PanelMember.objects.filter(task_version_id=row.task_version_id))
    names = ObjectNames.of(request.principal, graders=(member.grader_id for member in members))
    panel = [(names.grader(member.grader_id), member.part == PanelPart.SHADOW) for member in members]
    context = {**_context("Score again", row), "form": form, "panel": panel}
    return render(request, "scores/results/completion_rescore.html", context, status=409 if form.errors else 200)


@page(("completions", "delete"), methods=WRITES)
def erase(request: PageRequest, completion_id: UUID) -> HttpResponseBase:
    """Erase the text of the completion for good."""
    acting.concerns("completions", "delete", ids.encode("comp", completion_id))
    textless = Completion.objects.defer("prompt", "response", "messages", "metadata", "variables")
    row = find_for(textless, request.principal, completion_id, "delete", "completion")
    form = TypedConfirmationForm(request.POST if request.method == "POST" else None, word="erase")
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(request, lambda: deleting.delete_completion(completion_id), toast="The text is erased.")
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            return redirect("completion", completion_id)
    context = {**_context("Erase the text", row), "form": form}
    return render(request, "scores/results/completion_erase.html", context, status=400 if form.errors else 200)


def _context(title: str, row: Completion) -> dict[str, object]:
    completion_url = reverse("completion", args=[row.pk])
    crumbs = navigation.crumbs(("Completions", reverse("completions")), (f"…{row.public_id[-6:]}", completion_url))
    return {"title": title, "crumbs": crumbs, "completion": row, "back": completion_url}
