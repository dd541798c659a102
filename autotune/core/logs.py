"""What log lines may not hold."""

import logging
import re

# Callbacks, invitations, the keys of password resets, reward endpoints, links to exports: whoever reads the log must
# not use them. An address that was mistyped holds its token all the same.
_SLASH = r"(?:/|%2f)++"
_PLACES = (
    "callbacks", "invitations", "downloads", rf"account{_SLASH}password{_SLASH}reset",
    rf"rewards{_SLASH}[^/\s?\"']{{1,64}}?",
)  # fmt: skip
SECRET_PATH = re.compile(rf"({_SLASH}(?:{'|'.join(_PLACES)}){_SLASH})(?!\[token\])[^/\s?\"']+", re.IGNORECASE)


class RedactionFilter(logging.Filter):
    """Takes the token out of an address, wherever a line quotes the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):  # one by one: uvicorn's formatter counts them
            record.args = tuple(redacted(one) if isinstance(one, str) else one for one in record.args)
        message = record.getMessage()
        if SECRET_PATH.search(message):
            record.msg, record.args = redacted(message), ()
        return True


def redacted(text: str) -> str:
    """The text without the tokens of the addresses in it."""
    return SECRET_PATH.sub(r"\1[token]", text)
