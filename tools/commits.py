"""Check the commits of this branch: subjects, bodies and sizes. Exit status 1 on a breach.

  commits.py [REPOSITORY]    the folder of the repository; without one, this project's

The rules are those of CONTRIBUTING.md. They hold from the commit that added this file on. Merges are not checked. In a
shallow clone only the commits that it has are checked, and the sizes of its oldest commits cannot be.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

RULE = "tools/commits.py"  # the rules hold from the commit that adds this path on
SUBJECT_LENGTH = 72
BODY_FROM = 200  # changed lines above which a body must say why
LARGEST = 2_000  # changed lines of a commit that is no move, format, rename or squash
LARGE_KINDS = ("move", "format", "rename", "squash")
TRAILER = "Change"  # `Change: move` in the last paragraph names the kind where the subject does not


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A subject that describes a state begins with one of these, or with a form of a verb other than the imperative. No list
# holds every verb, so a first word that is in no list passes.
NO_VERBS = _words(
    """
    a an the this that these those what which when where who how why some each every all no it we i you they there
    here our my their its one two three new newer more better various minor small
    """
)
PAST = _words(  # irregular forms
    """
    became began broke brought built chose did drew fell forgot gave got grew held hid kept knew led left lost made
    meant met paid ran rewrote rose said sent shown spent spoke stood taught thought told took was went were
    withdrew wrote written taken given done
    """
)
VERBS = _words(
    """
    accept adapt add adjust adopt align allow amend answer append apply ask attach audit batch bring bump cache call
    change check claim clarify clean clear close collect compare correct count cover create define delete deny
    describe disable document drop enable encrypt ensure estimate exclude expect explain export expose extend
    extract fetch fix follow format generate group handle hide implement import improve include increase index
    introduce invert join keep limit link list load lock log make measure merge migrate move name open optimize pass
    pin prepare prevent print provide publish raise read record reduce refactor refuse reject release remove rename
    reorder repair replace report require reset restore retry return reuse revert review rework rewrite rotate run
    save score send separate set share shorten show sign simplify skip solve sort split squash start stop store
    support switch take tell test tidy track turn unify update upgrade use validate verify wait walk warn wrap write
    """
)


class Commit(NamedTuple):
    """What the rules need. `changed` is lines added and removed, None where a shallow clone lacks the commit before."""

    digest: str
    subject: str
    body: str
    trailers: str
    changed: int | None


class Breach(NamedTuple):
    digest: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.digest[:10]} {self.subject!r}: {self.message}"


class GitError(Exception):
    """Git refused a command; the text is git's own."""


# --- the rules ------------------------------------------------------------------------------------------------------


def breaches(commits: Sequence[Commit]) -> list[Breach]:
    """Return every breach of the rules, in the order of the commits."""
    return [Breach(commit.digest, commit.subject, message) for commit in commits for message in _messages(commit)]


def _messages(commit: Commit) -> Iterator[str]:
    yield from _subject_messages(commit.subject)
    if commit.changed is None:
        return
    if commit.changed > BODY_FROM and not _reason(commit):
        yield f"{commit.changed} lines changed; over {BODY_FROM}, add a body that says why"
    if commit.changed > LARGEST and not _may_be_large(commit):
        kinds = ", ".join(LARGE_KINDS)
        yield (
            f"{commit.changed} lines changed; at most {LARGEST}, so divide it. "
            f"A commit of one of these kinds may be larger: {kinds}. Begin its subject with the kind, "
            f"or end its body with the trailer `{TRAILER}: {LARGE_KINDS[0]}`"
        )


def _subject_messages(subject: str) -> Iterator[str]:
    if len(subject) > SUBJECT_LENGTH:
        yield f"the subject has {len(subject)} characters; at most {SUBJECT_LENGTH}, the rest belongs in the body"
    if subject.endswith(".") and not subject.endswith("..."):
        yield "the subject ends with a full stop; leave it out"
    first = subject.split(maxsplit=1)[0] if subject.strip() else ""
    if not first[:1].isupper():
        yield "the subject does not begin with a capital letter"
    elif first.endswith(":"):
        yield f"the subject begins with the label `{first}`; begin with a verb, such as Add"
    elif not _imperative(first):
        yield f"the subject begins with `{first}`; begin with a verb in the imperative, such as Add, not Adds or Added"


def _imperative(word: str) -> bool:
    """Return False for words that cannot begin an imperative sentence; an unknown word passes."""
    lower = word.rstrip(",;").lower()
    return lower in VERBS or lower not in NO_VERBS | PAST | OTHER_FORMS


def _forms(verb: str) -> Iterator[str]:
    """Yield the regular forms of a verb other than the imperative: fixes, fixed, fixing."""
    if verb.endswith("e"):
        yield from (f"{verb}s", f"{verb}d", f"{verb[:-1]}ing")
    elif verb.endswith("y") and verb[-2] not in "aeou":
        yield from (f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing")
    else:
        plural = "es" if verb.endswith(("s", "x", "ch", "sh")) else "s"
        yield from (verb + plural, f"{verb}ed", f"{verb}ing", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")


OTHER_FORMS = frozenset(form for verb in VERBS for form in _forms(verb))


def _reason(commit: Commit) -> str:
    """Return the body without its trailers: a sign-off by itself says nothing."""
    trailers = set(commit.trailers.splitlines())
    return "\n".join(line for line in commit.body.splitlines() if line not in trailers).strip()


def _may_be_large(commit: Commit) -> bool:
    kinds = {commit.subject.split(maxsplit=1)[0].lower()}
    kinds.update(match.lower() for match in re.findall(rf"(?mi)^{TRAILER}: *(\w+)\s*$", commit.trailers))
    return bool(kinds & set(LARGE_KINDS))


# --- reading the history --------------------------------------------------------------------------------------------


def history(root: Path) -> list[Commit]:
    """Return the commits on HEAD that the rules concern, newest first.

    raises   GitError if git cannot read the repository
    """
    boundary = _shallow_boundary(root)
    digests: dict[str, None] = {}  # a set that keeps its order
    for start in _git(root, "log", "--full-history", "--diff-filter=A", "--format=%H", "HEAD", "--", RULE).split():
        later = _git(root, "rev-list", "--no-merges", "--ancestry-path", f"{start}..HEAD")
        digests.update(dict.fromkeys([*later.split(), start]))
    oldest = {digest for digest in digests if digest in boundary}
    checked = [digest for digest in digests if digest not in oldest or not _is_merge(root, digest)]
    return [commit._replace(changed=None) if commit.digest in oldest else commit for commit in _commits(root, checked)]


def _shallow_boundary(root: Path) -> set[str]:
    """Return the oldest commits of a shallow clone, which look to git as if each added every file."""
    file = root / _git(root, "rev-parse", "--git-path", "shallow").strip()
    return set(file.read_text().split()) if file.exists() else set()


def _is_merge(root: Path, digest: str) -> bool:
    """Return whether a commit has several parents, also where a shallow clone hides them."""
    header = _git(root, "cat-file", "commit", digest).split("\n\n", 1)[0]
    return sum(line.startswith("parent ") for line in header.splitlines()) > 1


def _commits(root: Path, digests: Sequence[str]) -> Iterator[Commit]:
    if not digests:
        return
    form = "--format=%x00%H%x00%s%x00%b%x00%(trailers:only,unfold)%x00"
    text = _git(root, "log", "--no-walk=unsorted", "--stdin", "--numstat", "-M", "-l0", form, stdin=digests)
    values = text.split("\0")[1:]  # five for each commit; no message may contain a NUL
    for start in range(0, len(values), 5):
        digest, subject, body, trailers, numbers = values[start : start + 5]
        yield Commit(digest, subject, body, trailers, _changed_lines(numbers))


def _changed_lines(numbers: str) -> int:
    """Return the sum of added and removed lines of `git log --numstat`; a binary file has `-` and counts as none."""
    columns = (line.split("\t") for line in numbers.splitlines() if line)
    return sum(int(number) for added, removed, _ in columns for number in (added, removed) if number != "-")


def _git(root: Path, *arguments: str, stdin: Sequence[str] = ()) -> str:
    """Return the output of a git command that ignores what the user has configured."""
    settings = ("log.showSignature=false", "log.showRoot=true", "i18n.logOutputEncoding=UTF-8", "diff.external=")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    result = subprocess.run(
        ["git", *(part for setting in settings for part in ("-c", setting)), *arguments],
        cwd=root,
        env=environment,
        input="\n".join(stdin).encode(),
        capture_output=True,
        check=False,
    )
    if result.returncode:
        raise GitError(result.stderr.decode(errors="replace").strip())
    return result.stdout.decode(errors="replace")


def main(root: Path) -> int:
    if not (root / ".git").exists():
        print(f"commits: {root} has no git history, so no commit was checked")
        return 0
    try:
        commits = history(root)
    except (GitError, FileNotFoundError) as exc:
        print(f"git cannot read the history of {root}: {exc}")
        return 1
    failures = breaches(commits)
    for breach in failures:
        print(breach)
    if not failures:
        print(f"commits: {len(commits)} in order")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parents[1]))
