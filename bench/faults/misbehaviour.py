"""How graders misbehave, and what the documentation says must come of it: `EXPECTED`, checked by the scenario `hostile`.

Each is a coroutine function of one exchange. What is well answered goes through `answer_well`, which keeps the journal.
"""

import asyncio
import gzip
import random
import time

from common import dumps, value_of

from .exchange import Exchange

CHUNK = b"x" * 65_536
GIGABYTE = 1 << 30
BOMB = gzip.compress(b"\0" * (64 << 20), 9)  # 64 MiB in 64 KiB
METADATA = b"http://169.254.169.254/latest/meta-data/iam/security-credentials/"
DRIP_S = 0.2
SKEW_S = 600.0


async def good(x: Exchange) -> None:
    x.answer_well()


async def cannot_judge_some(x: Exchange) -> None:
    """An error for one completion of ten, always the same; not misbehaviour, but no score either."""
    judged = [item for item in x.items if value_of(item, "judge") >= 0.1]
    x.who.journal.note("answer", x.who.name, x.request, judged)
    right = x.good()
    error = {"error": "This cannot be judged."}
    if "score" in right:
        x.answer(dumps(right if judged else {"requestId": x.request} | error))
        return
    scores = [
        entry if entry["completionId"] in judged else {"completionId": entry["completionId"]} | error
        for entry in right["scores"]
    ]
    x.answer(dumps(right | {"scores": scores}))


# --- time and transport ---------------------------------------------------------------------------------------------


async def hang(x: Exchange) -> None:
    """Says nothing until the other side gives up."""


async def drip_status(x: Exchange) -> None:
    await _drip(x, b"HTTP/1.1 200 OK and so on and on and on and on and on and on")


async def drip_headers(x: Exchange) -> None:
    x.raw(b"HTTP/1.1 200 OK\r\n")
    await _drip(x, b"X-Filler: 1\r\n" * 50)


async def drip_body(x: Exchange) -> None:
    body = dumps(x.good())
    x.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n" % (len(body), x.seal(body))
    )
    await _drip(x, body)


async def _drip(x: Exchange, content: bytes) -> None:
    for byte in content:
        if x.over:
            return
        x.raw(bytes([byte]))
        await asyncio.sleep(DRIP_S)


async def reset(x: Exchange) -> None:
    x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
    x.transport.abort()


async def one_of_three(x: Exchange) -> None:
    """500 for one call of three, for ever."""
    if x.who.calls % 3 == 0:
        x.answer(dumps({"requestId": x.request, "error": "injected"}), status=500)
    else:
        x.answer_well()


async def busy(x: Exchange) -> None:
    """429 with Retry-After to the first call for each completion."""
    called = x.who.memory.setdefault("asked", set())
    if called.issuperset(x.items):
        x.answer_well()
        return
    called.update(x.items)
    body = dumps({"requestId": x.request, "error": "too many calls"})
    x.answer(body, status=429, headers=x.seal(body) + b"Retry-After: 2\r\n")


# --- size and encoding ----------------------------------------------------------------------------------------------


async def gigabyte(x: Exchange) -> None:
    x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
    await _stream(x, CHUNK)


async def chunked_gigabyte(x: Exchange) -> None:
    x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _stream(x, b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))


async def announced_terabyte(x: Exchange) -> None:
    x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n")
    await _stream(x, CHUNK)


async def _stream(x: Exchange, piece: bytes) -> None:
    for _ in range(GIGABYTE // len(CHUNK)):
        if x.over:
            return
        x.raw(piece)
        while not x.over and x.transport.get_write_buffer_size() > 1 << 20:
            await asyncio.sleep(0.002)
    x.transport.close()


async def gzip_bomb(x: Exchange) -> None:
    x.answer(BOMB, headers=x.seal(BOMB) + b"Content-Encoding: gzip\r\n")


async def redirect(x: Exchange) -> None:
    x.answer(b"", status=307, headers=b"Location: %b\r\n" % METADATA)


# --- signatures -----------------------------------------------------------------------------------------------------


async def wrong_signature(x: Exchange) -> None:
    body = dumps(x.good())
    x.answer(body, headers=x.seal(body, key=b"atgs_somebody_elses_secret_000000000000000000000000"))


async def unsigned(x: Exchange) -> None:
    x.answer(dumps(x.good()), headers=b"")


async def reflected(x: Exchange) -> None:
    """The request itself, with its own signature."""
    head = b"X-Autotune-Response-Timestamp: %b\r\nX-Autotune-Response-Signature: %b\r\n" % (
        x.who.memory["sent_at"], x.sent,
    )  # fmt: skip
    x.answer(x.who.memory["body"], headers=head)


async def anothers_answer(x: Exchange) -> None:
    """The right answer, valid for a request that is not this one."""
    other = "".join(random.choices("0123456789abcdef", k=32))
    body = dumps(x.good() | {"requestId": other})
    x.answer(body, headers=x.seal(body, request=other))


async def replayed(x: Exchange) -> None:
    """To the first call an error that is worth a retry; from then on what would have been right for that call."""
    if "answer" not in x.who.memory:
        body = dumps(x.good())
        x.who.memory["answer"] = body, x.seal(body)
        x.answer(b"{}", status=503, headers=b"")
    else:
        body, head = x.who.memory["answer"]
        x.answer(body, headers=head)


async def skewed(x: Exchange) -> None:
    """Its clock is ten minutes slow."""
    body = dumps(x.good())
    x.answer(body, headers=x.seal(body, at=time.time() - SKEW_S))


# --- results --------------------------------------------------------------------------------------------------------


def with_value(text: bytes):
    """A coroutine function whose answers are right but for the text of the first value."""

    async def answer(x: Exchange) -> None:
        whole = dumps(x.good())
        before, _, rest = whole.partition(b'"value":')
        x.who.journal.note("answer", x.who.name, x.request, x.items[1:])
        x.answer(before + b'"value":' + text + rest[rest.index(b",") :])

    return answer


def with_scores(change):
    """A coroutine function whose list of scores is `change(list)`. Single answers stay right."""

    async def answer(x: Exchange) -> None:
        right = x.good()
        x.answer(dumps(right | {"scores": change(right["scores"])}))

    return answer


async def reordered(x: Exchange) -> None:
    right = x.good()
    x.who.journal.note("answer", x.who.name, x.request, x.items)
    x.answer(dumps(right | {"scores": right["scores"][::-1]}))


async def missing(x: Exchange) -> None:
    """Leaves out the first of several; a single item is answered."""
    right = x.good()
    kept = right["scores"][1:] if len(right["scores"]) > 1 else right["scores"]
    x.who.journal.note("answer", x.who.name, x.request, [entry["completionId"] for entry in kept])
    x.answer(dumps(right | {"scores": kept}))


async def invalid_utf8(x: Exchange) -> None:
    whole = dumps(x.good())
    x.answer(whole[:-1] + b',"note":"\xff\xfe"}')


async def deep(x: Exchange) -> None:
    x.answer(dumps(x.good())[:-1] + b',"deep":' + b"[" * 33 + b"]" * 33 + b"}")


async def very_deep(x: Exchange) -> None:
    x.answer(dumps(x.good())[:-1] + b',"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def _stranger(scores: list[dict]) -> list[dict]:
    return [*scores, scores[0] | {"completionId": "comp_01jd0000000000000000000000"}]


MODES = {
    "good": good,
    "cannot judge some": cannot_judge_some,
    "hang": hang,
    "drip status": drip_status,
    "drip headers": drip_headers,
    "drip body": drip_body,
    "reset": reset,
    "500 for 1 of 3": one_of_three,
    "429 with Retry-After": busy,
    "1 GB": gigabyte,
    "1 GB chunked": chunked_gigabyte,
    "1 TB announced": announced_terabyte,
    "gzip bomb": gzip_bomb,
    "redirect to metadata": redirect,
    "wrong signature": wrong_signature,
    "no signature": unsigned,
    "request reflected": reflected,
    "another request's answer": anothers_answer,
    "replayed answer": replayed,
    "clock 10 minutes off": skewed,
    "NaN": with_value(b"NaN"),
    "1e999": with_value(b"1e999"),
    "string": with_value(b'"0.9"'),
    "above 1": with_value(b"1.5"),
    "missing item": missing,
    "extra item": with_scores(_stranger),
    "doubled item": with_scores(lambda scores: [*scores, scores[0]]),
    "reordered items": reordered,
    "invalid UTF-8": invalid_utf8,
    "deep JSON": deep,
    "very deep JSON": very_deep,
}
COMPLETED = ""
EXPECTED = {  # mode -> codes of the first completion's run, one of which it must have; COMPLETED: scored, and right
    "hang": {"timeout"},
    "drip status": {"timeout"},
    "drip headers": {"timeout"},
    "drip body": {"timeout"},
    "reset": {"connection_reset"},
    "500 for 1 of 3": {COMPLETED},
    "429 with Retry-After": {COMPLETED},
    "1 GB": {"body_too_large"},
    "1 GB chunked": {"body_too_large"},
    "1 TB announced": {"body_too_large"},
    "gzip bomb": {"content_encoding_refused"},
    "redirect to metadata": {"redirect_refused"},
    "wrong signature": {"bad_signature"},
    "no signature": {"missing_header"},
    "request reflected": {"reflected"},
    "another request's answer": {"bad_signature"},
    "replayed answer": {"bad_signature"},
    "clock 10 minutes off": {"stale_timestamp"},
    "NaN": {"invalid_json"},
    "1e999": {"number_not_finite"},
    "string": {"wrong_type"},
    "above 1": {"out_of_range"},
    "missing item": {COMPLETED},
    "extra item": {"unknown_item"},
    "doubled item": {"duplicate_item"},
    "reordered items": {COMPLETED},
    "invalid UTF-8": {"invalid_json"},
    "deep JSON": {"too_deep"},
    "very deep JSON": {"too_deep"},
}
WHOLE_CALL = EXPECTED.keys() - {"string", "above 1"}  # the other items of a call share its fate
