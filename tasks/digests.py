"""Keyed digests that identify equal prompts and equal answers, since ciphertext cannot be compared.

They are HMAC-SHA256 under the organization's digest key, which never rotates. A prompt that was submitted as chat
messages is equal to only the same messages, whatever its last text is. If the task's system prompt is in effect, the
digest covers the whole conversation with that prompt first: answers under different system prompts are never equal.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from autotune.core.crypto import encryption
from tasks.conversations import system_prompt_in_effect, whole_conversation

SIZE: Final = 16  # bytes that are stored; two digests are equal by chance only after about 2^64 completions
UNREADABLE: Final = b""  # of a text whose data key was dropped: equal to nothing, and not read again


class Digester:
    """Computes the digests of one organization's completions. Create one for a batch, so the key is set up once."""

    def __init__(self, organization_id: UUID) -> None:
        self._empty = hmac.new(encryption.digest_key(organization_id), digestmod=hashlib.sha256)

    def stored(
        self, prompt: str, messages: Sequence[Any] | None, response: str, *, system_prompt: str | None = None
    ) -> tuple[bytes, bytes]:
        """(`prompt_digest`, `answer_digest`) of a completion, 16 bytes each; the prompt is hashed once for both.

        system_prompt  system prompt of the completion's task version
        """
        mac = self._of_prompt(prompt, messages, system_prompt)
        first = mac.digest()[:SIZE]
        _add(mac, response.encode())
        return first, mac.digest()[:SIZE]

    def answer(
        self, prompt: str, messages: Sequence[Any] | None, response: str, *, system_prompt: str | None = None
    ) -> bytes:
        """The whole answer digest (32 bytes); `answer_digest` stores its first 16 bytes."""
        mac = self._of_prompt(prompt, messages, system_prompt)
        _add(mac, response.encode())
        return mac.digest()

    def _of_prompt(self, prompt: str, messages: Sequence[Any] | None, system_prompt: str | None) -> hmac.HMAC:
        if system_prompt and system_prompt_in_effect(messages, system_prompt):
            messages = whole_conversation(prompt, messages, system_prompt)
        mac = self._empty.copy()
        _add(mac, b"prompt" if messages is None else b"messages")
        _add(mac, prompt.encode() if messages is None else canonical_json(messages))
        return mac


def canonical_json(value: Any) -> bytes:
    """JSON with the members of objects in sorted order; empty for None."""
    return b"" if value is None else msgspec.json.encode(value, order="sorted")


def _add(mac: hmac.HMAC, part: bytes) -> None:
    """Add a part after its length, so that different lists of parts never give the same bytes."""
    mac.update(len(part).to_bytes(8, "big"))
    mac.update(part)
