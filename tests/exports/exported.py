"""Export through the API, and read what came back."""

import io
import json

import pyarrow.parquet as pq

from tests.factories import public


def body(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return b"".join(response.streaming_content)


def lines(api, query):
    return [json.loads(line) for line in body(api, query).splitlines()]


def metadata(api, query):
    return json.loads(body(api, f"{query}&format=json"))["metadata"]


def parquet(api, query):
    return pq.read_table(io.BytesIO(body(api, f"{query}&format=parquet")))


def parquet_metadata(api, query):
    raw = parquet(api, query).schema.metadata
    return {name: json.loads(raw[name.encode()]) for name in ("leftOut", "leftOutByReason", "totalRecords")}


def pairs(api, task, **members):
    request = {"taskId": public("task", task), "minScoreDelta": 0.1, "sampleSize": 10, **members}
    answer = api.post("/preference-pairs", request)
    assert answer.status_code == 200, answer.content
    return answer.json()
