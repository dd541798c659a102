"""Routes of the pages of completions and scores."""

from django.urls import URLPattern, path

from scores.results.pages import (
    comparison,
    completion,
    completion_actions,
    completion_bulk,
    completion_text,
    completions,
    explorer,
    score,
    score_actions,
)

urlpatterns: list[URLPattern] = [
    path("scores", explorer.explorer, name="scores"),
    path("scores/<score:score_id>", score.score, name="score"),
    path("scores/<score:score_id>/delete", score_actions.delete, name="score_delete"),
    path("completions", completions.completions, name="completions"),
    path("completions/compare", comparison.compare, name="completions_compare"),
    path("completions/selected/rescore", completion_bulk.rescore, name="completions_rescore"),
    path("completions/selected/compare", completion_bulk.compare, name="completions_compare_selected"),
    path("completions/<comp:completion_id>", completion.completion, name="completion"),
    path("completions/<comp:completion_id>/text/<str:part>", completion_text.text, name="completion_text"),
    path("completions/<comp:completion_id>/rescore", completion_actions.rescore, name="completion_rescore"),
    path("completions/<comp:completion_id>/erase", completion_actions.erase, name="completion_erase"),
]
