"""Run the demo: `make demo` calls `python -m autotune.site.demo`.

In production form the settings refuse to load without secrets. This module therefore creates the secrets first, and
then replaces its process with `manage.py demo`.
"""

import os
import sys

from autotune.site.local.launch import ROOT, data_dir, secret_files

if __name__ == "__main__":
    data = data_dir(os.environ)
    data.mkdir(parents=True, exist_ok=True)
    os.environ.update(secret_files(os.environ, data))
    os.execv(sys.executable, [sys.executable, str(ROOT / "manage.py"), "demo", *sys.argv[1:]])  # noqa: S606
