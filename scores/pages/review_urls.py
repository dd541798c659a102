"""Routes of the pages of reviews."""

from django.urls import URLPattern, path

from scores.pages import review_desk, review_detail, review_list

urlpatterns: list[URLPattern] = [
    path("reviews", review_list.reviews_page, name="reviews"),
    path("reviews/next", review_desk.desk, name="reviews_next"),
    path("reviews/<rev:review_id>", review_detail.review, name="review"),
    path("reviews/<rev:review_id>/claim", review_desk.claim, name="review_claim"),
    path("reviews/<rev:review_id>/release", review_desk.release, name="review_release"),
    path("reviews/<rev:review_id>/decide", review_detail.decide, name="review_decide"),
]
