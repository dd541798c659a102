"""Acts on completions that a person has selected in the list: score them again, or compare two of them."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from autotune.access.frame import acting, bulk
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find_for
from scores.intake import rescoring
from scores.results.completion_filters import TEXTS
from scores.results.pages.completions import READS
from tasks.models import Completion


@page(("completions", "create"), methods=("POST",))
def rescore(request: PageRequest) -> HttpResponseBase:
    """Score the selected completions again, and report what happened to each."""
    acting.concerns("completions", "create")
    principal = request.principal

    def work(completion_id: UUID) -> None:
        find_for(Completion.objects.defer(*TEXTS), principal, completion_id, "create", "completion")
        rescoring.rescore(completion_id, principal)

    outcomes = bulk.perform(request, "comp", "completion", work, done="Scoring has started again.")
    return bulk.report(request, outcomes, title="Score again", rows="completions", route="completion")


@page(*READS, methods=("POST",))
def compare(request: PageRequest) -> HttpResponseBase:
    """Open the comparison of the two selected completions, which checks that the person may read both."""
    completion_ids = bulk.selected(request)
    if len(completion_ids) != 2:
        messages.warning(request, "Select exactly two completions to compare.")
        return redirect("completions")
    return redirect(f"{reverse('completions_compare')}?{urlencode(dict(zip('ab', completion_ids, strict=True)))}")
