"""What can go wrong when a value is decrypted. Apart from `encryption`, which needs the models."""

from uuid import UUID


class Undecryptable(Exception):
    """The ciphertext is not what this row's key and place say: moved, altered, or its data key was dropped.

    data_key  the id of the data key, where that is what is damaged
    """

    def __init__(self, detail: str, *, data_key: UUID | None = None) -> None:
        super().__init__(detail)
        self.data_key = data_key


class MasterKeyMissing(Undecryptable):
    """The master keys are not what they were: nothing of the data key's period can be read until it is mended."""
