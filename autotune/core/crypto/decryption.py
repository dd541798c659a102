"""Errors of decryption, in a module of their own because `encryption` imports the models."""

from uuid import UUID


class Undecryptable(Exception):
    """The ciphertext does not fit this row's key and place: it was moved or altered, or its data key was dropped.

    data_key  the id of the data key, if the data key itself is damaged
    """

    def __init__(self, detail: str, *, data_key: UUID | None = None) -> None:
        super().__init__(detail)
        self.data_key = data_key


class MasterKeyMissing(Undecryptable):
    """A master key is missing or wrong: no value of the data key's period can be read until the key is restored."""
