"""Parse a body and write it again as a JavaScript receiver would, with Node where it is installed."""

import json
import shutil
import subprocess

import pytest

from autotune.core import ecmajson

NODE = shutil.which("node")
_REWRITE = """
const parts = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(parts.map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent))));
"""

needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def rewritten(*texts, indent=0):
    """`JSON.stringify(JSON.parse(text), null, indent)` of each text."""
    parts = json.dumps([[text if isinstance(text, str) else text.decode(), indent] for text in texts])
    node = subprocess.run([NODE, "-e", _REWRITE], input=parts.encode(), capture_output=True, check=True, timeout=60)
    return json.loads(node.stdout)


def assert_as_ecmascript_writes_it(*texts):
    """Check that our encoder, and Node where it is installed, write each text again without changing a byte."""
    expected = [text if isinstance(text, str) else text.decode() for text in texts]
    assert [ecmajson.dumps(json.loads(text)).decode() for text in expected] == expected
    if NODE is not None:
        assert rewritten(*expected) == expected
