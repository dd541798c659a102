"""Routes of the pages of reviews."""

from django.urls import URLPattern, path

from scores.reviews.pages import desk, queue, review

urlpatterns: list[URLPattern] = [
    path("reviews", queue.reviews_page, name="reviews"),
    path("reviews/next", desk.desk, name="reviews_next"),
    path("reviews/<rev:review_id>", review.review, name="review"),
    path("reviews/<rev:review_id>/claim", desk.claim, name="review_claim"),
    path("reviews/<rev:review_id>/release", desk.release, name="review_release"),
    path("reviews/<rev:review_id>/decide", review.decide, name="review_decide"),
]
