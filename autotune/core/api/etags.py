"""Strong ETags, so that Autotune does not send an unchanged response again."""

import hashlib

import msgspec
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags


def etag(body: bytes) -> str:
    """Return the strong ETag of a body, with its quotation marks."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def matches(if_none_match: str, tag: str) -> bool:
    """Whether an `If-None-Match` (a list of tags, weak ones too, or `*`) names `tag`; RFC 9110, 13.1.2."""
    tags = [entry.removeprefix("W/") for entry in parse_etags(if_none_match)]
    return tag in tags or tags == ["*"]


def conditional(request: HttpRequest, content: msgspec.Struct) -> HttpResponse:
    """Return `content` as JSON with its ETag, or 304 without a body if the caller has it. Only for GET and HEAD."""
    body = msgspec.json.encode(content)
    headers = {"ETag": etag(body), "Cache-Control": "private, no-cache"}
    if matches(request.headers.get("If-None-Match", ""), headers["ETag"]):
        response = HttpResponse(status=304, headers=headers)
        del response["Content-Type"]
        return response
    return HttpResponse(body, content_type="application/json", headers=headers)
