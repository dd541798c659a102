"""What log lines may not hold."""

import logging
import re

SECRET_PATH = re.compile(r"(/callbacks/)[^/\s?\"']+")


class RedactionFilter(logging.Filter):
    """Takes the token out of a callback's address, wherever a line quotes the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "/callbacks/" in message:
            record.msg, record.args = SECRET_PATH.sub(r"\1[token]", message), ()
        return True
