"""A cache of the system prompts of task versions, for operations on many completions."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from tasks.models import TaskVersion

MOST_KEPT: Final = 10_000


class SystemPrompts:
    """A cache of system prompts: it reads and decrypts each version once, since a version never changes."""

    def __init__(self) -> None:
        self._by_version: dict[UUID, str | None] = {}
        self._damaged: set[UUID] = set()

    def of(self, version_ids: Collection[UUID]) -> dict[UUID, str]:
        """The system prompts by version, for versions that have one. One query for all versions not read before.

        raises  Undecryptable
        """
        if len(self._by_version) > MOST_KEPT:
            self._by_version.clear()
        if unread := set(version_ids) - self._by_version.keys():
            versions = TaskVersion.objects.filter(pk__in=unread).only("content")
            texts = {version.pk: version.content.get("systemPrompt") or None for version in versions}
            self._by_version |= {**dict.fromkeys(unread), **texts}
        return {pk: text for pk in version_ids if (text := self._by_version[pk]) is not None}

    def unreadable(self, version_ids: Collection[UUID]) -> set[UUID]:
        """The versions whose content cannot be decrypted; each is tried once.

        raises  MasterKeyMissing
        """
        try:
            self.of([version_id for version_id in version_ids if version_id not in self._damaged])
        except MasterKeyMissing:
            raise
        except Undecryptable:
            for version_id in version_ids:
                self._try(version_id)
        return self._damaged.intersection(version_ids)

    def _try(self, version_id: UUID) -> None:
        try:
            if version_id not in self._damaged:
                self.of([version_id])
        except MasterKeyMissing:
            raise
        except Undecryptable:
            self._damaged.add(version_id)
