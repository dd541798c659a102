"""The fault harness: `make faults`. It breaks a whole running server again and again, and counts what came of it.

Two books are kept that know nothing of each other: the server's database, and the journal of what the graders were asked
and answered. Afterwards both are compared with what was submitted (`checker.py`). See docs/reliability.md.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
for place in (str(ROOT), str(BENCH)):  # the programs of bench/ import each other by their bare names
    if place not in sys.path:
        sys.path.append(place)
