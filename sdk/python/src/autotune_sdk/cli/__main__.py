"""Run the command `autotune` as `python -m autotune_sdk.cli`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
