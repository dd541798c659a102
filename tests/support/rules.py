"""Rules that judge in a child process. The child imports this module, so it imports nothing of the server."""

import os
import re
import signal
import time

from graders.verdicts import Dimension, Failure, Verdict


def by_length(item, settings, options):
    """1 for a response of at most `most` characters, else 0."""
    fits = len(item.response) <= settings["most"]
    return Verdict(float(fits), 1.0, (Dimension("length", float(fits), 1.0),), f"{len(item.response)} characters")


def by_pattern(item, settings, options):
    """1 for a response that matches `pattern` as a whole, else 0."""
    return Verdict(float(re.fullmatch(settings["pattern"], item.response) is not None), 1.0)


def misbehaves(item, settings, options):
    """Does what the response names; a response that names nothing scores 0.5."""
    match item.response:
        case "loops":
            while True:
                pass
        case "sleeps":
            time.sleep(600)
        case "backtracks":
            re.fullmatch("(a+)+b", "a" * 60)  # in C, with the interpreter's lock held
        case "fills":
            return _filled()
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exits":
            os._exit(0)
        case "raises":
            raise ValueError(f"no digits\x00 in {item.response}")
        case "refuses":
            return Failure("grader_error", "The response is in another language.", gone=True, resign=True, trips=False)
        case "strays":
            return Verdict(1.5, 1.0)
        case "mute":
            return None
        case "nul":
            return Verdict(0.5, 1.0, (Dimension("a\0b", 0.5, 1.0),))
        case "surrogate":
            return Verdict(0.5, 1.0, None, "\ud800")
    return Verdict(0.5, 1.0)


def _filled():
    blocks = []
    while True:
        blocks.append(bytearray(1 << 26))


def process(item, settings, options):
    """The id of the process that judges, as reasoning."""
    return Verdict(0.5, 1.0, None, str(os.getpid()))


def by_number(item, settings, options):
    """1 if the response is the number in the metadata, else 0; the system prompt as reasoning."""
    return Verdict(float(int(item.response) == item.metadata["number"]), 1.0, None, item.system_prompt)


def environment(item, settings, options):
    """The names of the environment's variables, as the reasoning."""
    return Verdict(1.0, 1.0, reasoning=" ".join(os.environ))
