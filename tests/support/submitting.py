"""Items for the published client, and checks of times."""

from datetime import UTC, datetime, timedelta


def items(count, **more):
    return [
        {"model_id": f"model-{n % 2}", "prompt": f"p{n}", "response": "x" * n, "external_id": f"e{n}", **more}
        for n in range(count)
    ]


def is_recent(moment):
    return moment.tzinfo is not None and abs(datetime.now(UTC) - moment) < timedelta(minutes=1)
