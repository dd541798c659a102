"""What log lines may not hold."""

import logging
import re

# Callbacks, invitations, and the keys of password resets: whoever reads the log must not use them.
SECRET_PATH = re.compile(r"(/callbacks/|/invitations/|/account/password/reset/)[^/\s?\"']+")


class RedactionFilter(logging.Filter):
    """Takes the token out of an address, wherever a line quotes the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if SECRET_PATH.search(message):
            record.msg, record.args = SECRET_PATH.sub(r"\1[token]", message), ()
        return True
