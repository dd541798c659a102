"""`python -m autotune_sdk.cli`, the same as `autotune`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
