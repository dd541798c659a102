"""`manage.py audit verify [--organization ID] [--heads FILE]`, and `manage.py audit heads`."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from autotune.access.audit import verification
from autotune.access.audit.verification import ChainHead


class Command(BaseCommand):
    help = "Finds altered, removed and inserted events in the audit log, or prints where its chains end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        verify = acts.add_parser("verify", help="check the chains and print each problem; exit 1 if there is any")
        verify.add_argument("--organization", metavar="ID", help="check only one chain: `org_…` or `installation`")
        verify.add_argument("--heads", metavar="FILE", type=Path, help="earlier output of `audit heads`")
        acts.add_parser("heads", help="print the number and digest of each chain's last event as JSON")

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        if act == "heads":
            heads = {
                name: {"number": head.number, "digest": head.digest} for name, head in verification.heads().items()
            }
            self.stdout.write(json.dumps(heads, indent=1))
            return
        kept = _kept(options["heads"])
        count = 0
        for chain in self._chains(options["organization"], kept):
            for finding in verification.verify(chain, kept):
                count += 1
                self.stdout.write(str(finding))
        if count:
            raise CommandError(f"The audit log was tampered with: {count} findings.", returncode=1)
        self.stdout.write("The audit log is intact.")

    def _chains(self, organization: str | None, kept: Mapping[str, ChainHead]) -> list[Any]:
        try:
            if organization:
                return [verification.chain_of(organization)]
            return sorted({*verification.chains(), *(verification.chain_of(name) for name in kept)})
        except ValueError:
            raise CommandError("There is no such chain: enter an `org_…` id, or `installation`.") from None


def _kept(path: Path | None) -> dict[str, ChainHead]:
    """Return the heads in the file that `--heads` names."""
    if path is None:
        return {}
    try:
        noted = json.loads(path.read_text())
        return {name: ChainHead(int(head["number"]), str(head["digest"])) for name, head in noted.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
        raise CommandError(f"--heads: {path} is not what `audit heads` prints ({type(exc).__name__}).") from None
