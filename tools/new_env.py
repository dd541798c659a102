"""Write `.env` from `.env.example`, with new secrets, readable only by its owner: `make env`."""

import os
import re
import sys
from pathlib import Path

from autotune.environment import new_secret

ROOT = Path(__file__).resolve().parents[1]
SECRETS = ("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS")


def main() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name in SECRETS:
        text = re.sub(rf"^{name}=$", f"{name}={new_secret(name)}", text, flags=re.MULTILINE)
    try:
        descriptor = os.open(ROOT / ".env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.exit(".env already exists and may hold the only copy of its keys; nothing was changed")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    print("wrote .env with new secrets: keep a copy of its keys")
    print("next, set DATABASE_URL, REDIS_URL and AUTOTUNE_PUBLIC_URL in it")


if __name__ == "__main__":
    main()
