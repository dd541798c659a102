"""Parses JSON from outside strictly.

Refused: text that is not UTF-8, NaN and Infinity, numbers that are not finite doubles, very long integers, a member
name twice in one object, text after the value, deep nesting, lone surrogates and U+0000. The fast pass is the C scanner
with hooks (scanning.py); only a refusal pays for the second pass, which finds the JSON pointer of the fault.
"""

from autotune.core.strictjson.checks import MAX_DEPTH, check_free
from autotune.core.strictjson.refusals import FaultyItem, JSONRefused
from autotune.core.strictjson.scanning import loads, loads_items

__all__ = ["MAX_DEPTH", "FaultyItem", "JSONRefused", "check_free", "loads", "loads_items"]
