"""The entries of completions, scores, reviews, live rewards, workflow runs and retention in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry("Reviews", "reviews", "review", "Judge", 20, (("reviews", "update"), ("reviews", "create"))),
    NavigationEntry(
        "Completions", "completions", "completion", "Data", 30,
        (("completions", "read"), ("shared_completions", "read")),
    ),
    NavigationEntry("Scores", "scores", "score", "Measure", 10, (("scores", "read"),)),
    NavigationEntry("Live rewards", "reward_endpoints", "reward", "Train", 30, (("reward_endpoints", "read"),)),
    NavigationEntry("Workflow runs", "workflow_runs", "run", "Operate", 10, (("workflow_runs", "read"),)),
    NavigationEntry(
        "Retention", "retention", "retention", "Settings", 60, (("retention", "read"),),
        about="How long text and scores are kept, legal holds, erasures.",
    ),
    NavigationAct("Create a reward endpoint", "reward_endpoint_new", (("reward_endpoints", "create"),)),
    NavigationAct("Review the next completion", "reviews_next", (("reviews", "update"),)),
)  # fmt: skip
