"""tools/commits.py finds commits that break the rules of CONTRIBUTING.md; each test makes real git repositories."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULE = "tools/commits.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("commits", ROOT / RULE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["commits"] = module
    spec.loader.exec_module(module)
    return module


commits = load()


class Repository:
    """A git repository with the commits that a test adds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
            **{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
        }
        result = subprocess.run(["git", *arguments], cwd=self.root, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def write(self, path: str, lines: int, text: str = "line") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{text} {number}\n" for number in range(lines)))

    def commit(self, message: str, **files: int) -> str:
        """Commit files with so many lines each, named `name.txt`; return the digest."""
        for name, lines in files.items():
            self.write(f"{name}.txt", lines, text=f"{name} of {message.splitlines()[0]}")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def add_rule(self, message: str = "Check commits") -> str:
        self.write(RULE, 3)
        return self.commit(message)

    def checked(self) -> list[str]:
        return [commit.subject for commit in commits.history(self.root)]

    def messages(self) -> list[str]:
        return [breach.message for breach in commits.breaches(commits.history(self.root))]


@pytest.fixture
def repository(tmp_path):
    """A repository whose newest commit adds the rule."""
    repository = Repository(tmp_path / "repository")
    repository.add_rule()
    return repository


# --- subjects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject",
    [
        "Add retries to webhook delivery",
        "Address the review of drains",  # ends in -s, and is an imperative
        "Bring the queue to SQLite",  # ends in -ing
        "Embed the chart in the page",
        "Process callbacks in groups",
        "Speed up exports",
        "Let workers wait",  # a word that is in no list
        "Re-encrypt secrets of second factors",
        "Set, then read, the lease",
        "Überarbeite nothing but the name",
        'Revert "Add retries to webhook delivery"',
        "Merge the two tables of hours",
        "Explain why the sweep waits...",
        "A" + "d" * 71,
    ],
)
def test_honest_subjects_pass(repository, subject):
    repository.commit(subject)
    assert repository.messages() == []


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("Adds retries", "begins with `Adds`"),
        ("Added retries", "begins with `Added`"),
        ("Adding retries", "begins with `Adding`"),
        ("Dropped a column", "begins with `Dropped`"),
        ("Retries are jittered", "begins with `Retries`"),
        ("Fixes", "begins with `Fixes`"),
        ("Wrote the docs", "begins with `Wrote`"),
        ("The queue is faster", "begins with `The`"),
        ("Tests, and their time", "begins with `Tests,`"),
        ("add retries", "capital letter"),
        ("fixup! Add retries", "capital letter"),
        ("feat: add retries", "capital letter"),
        ("  ", "capital letter"),
        ("Pages: a new frame", "label `Pages:`"),
        ("Add retries.", "full stop"),
        ("A" + "d" * 72, "73 characters"),
        (
            "Add retries to\nthe delivery of webhooks, which the line above continues without an empty line",
            "characters",
        ),
    ],
)
def test_other_subjects_are_refused(repository, subject, message):
    repository.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-m", subject)
    (breach,) = repository.messages()
    assert message in breach


# --- bodies and sizes -----------------------------------------------------------------------------------------------


def test_up_to_200_lines_need_no_body(repository):
    repository.commit("Add rows", rows=200)
    assert repository.messages() == []


def test_more_lines_need_a_body(repository):
    repository.commit("Add rows", rows=201)
    (message,) = repository.messages()
    assert message == "201 lines changed; over 200, add a body that says why"


def test_added_and_removed_lines_count(repository):
    repository.commit("Add rows", rows=150)
    repository.commit("Replace rows", rows=149)
    assert [message[:17] for message in repository.messages()] == ["299 lines changed"]


def test_a_body_satisfies_the_rule(repository):
    repository.commit("Add rows\n\nThe sweep reads them.", rows=201)
    assert repository.messages() == []


@pytest.mark.parametrize("body", ["Signed-off-by: Ada <ada@example.org>", "Change: move\nReviewed-by: Ada <a@b.org>"])
def test_trailers_do_not_count_as_a_body(repository, body):
    repository.commit(f"Add rows\n\n{body}", rows=201)
    (message,) = repository.messages()
    assert "add a body" in message


def test_at_most_2000_lines_change(repository):
    repository.commit("Add rows\n\nThe sweep reads them.", rows=2000)
    assert repository.messages() == []
    repository.commit("Add cells\n\nThe sweep reads them.", cells=1999, others=2)
    (message,) = repository.messages()
    assert message.startswith("2001 lines changed; at most 2000, so divide it.")
    assert "Change: move" in message


@pytest.mark.parametrize(
    "message",
    [
        "Move rows\n\nA table of their own.",
        "Format rows\n\n120 columns.",
        "Squash the migrations\n\nNobody has a database.",
        "Rename rows\n\nThe field's word.",
        "Turn rows into cells\n\nThe field's word.\n\nChange: rename",
        "Turn rows into cells\n\nThe field's word.\n\nSigned-off-by: Ada <ada@example.org>\nchange: Format",
    ],
)
def test_moves_formats_renames_and_squashes_may_be_larger(repository, message):
    repository.commit(message, rows=2001)
    assert repository.messages() == []


@pytest.mark.parametrize(
    "message",
    [
        "Moved rows\n\nA table of their own.",  # also refused as a subject
        "Turn rows into cells\n\nThe field's word.\n\nChange: everything",
        "Turn rows into cells\n\nChange: move\n\nis not a trailer in the middle of a body.",
    ],
)
def test_nothing_else_may_be_larger(repository, message):
    repository.commit(message, rows=2001)
    assert any("divide it" in message for message in repository.messages())


def test_a_file_that_moves_changes_no_lines(repository):
    repository.commit("Add rows\n\nThe sweep reads them.", rows=1500)
    (repository.root / "folder\twith ütf").mkdir()
    repository.git("mv", "rows.txt", "folder\twith ütf/cells.txt")
    repository.commit("Put rows in a folder")
    assert repository.messages() == []


def test_a_binary_file_has_no_lines(repository):
    (repository.root / "picture.png").write_bytes(bytes(range(256)) * 1000)
    repository.commit("Add a picture")
    assert repository.messages() == []


# --- which commits --------------------------------------------------------------------------------------------------


def test_the_rules_hold_from_the_commit_that_adds_them_on(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("older and wrong.", rows=3000)
    repository.add_rule("adds the rule.")
    repository.commit("and breaks it.")
    repository.write(RULE, 5)
    repository.commit("Change the rule")
    assert repository.checked() == ["Change the rule", "and breaks it.", "adds the rule."]
    assert len(repository.messages()) == 4


def test_without_the_rule_nothing_is_checked(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("wrong.")
    assert repository.checked() == []
    assert commits.main(repository.root) == 0


def test_merges_are_skipped_and_what_they_join_is_checked(repository):
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit("on the side.")
    repository.git("switch", "--quiet", "main")
    repository.commit("Stay on main")
    repository.git("merge", "--quiet", "--no-ff", "side", "--message", "merges everything.")
    assert sorted(repository.checked()) == ["Check commits", "Stay on main", "on the side."]


def test_a_branch_that_is_older_than_the_rule_is_not_checked(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("Begin")
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit("older than the rule.")
    repository.git("switch", "--quiet", "main")
    repository.add_rule()
    repository.git("merge", "--quiet", "--no-ff", "side", "--message", "Merge the side")
    assert repository.checked() == ["Check commits"]


def clone(repository: Repository, depth: int, root: Path) -> Repository:
    repository.git("clone", "--quiet", f"--depth={depth}", f"file://{repository.root}", str(root))
    return Repository(root)


def test_a_shallow_clone_checks_what_it_has(repository, tmp_path):
    for number in range(3):
        repository.commit(f"{number} is wrong.", rows=300 + number)
    shallow = clone(repository, 2, tmp_path / "shallow")
    assert shallow.checked() == ["2 is wrong.", "1 is wrong."]
    assert [message[:3] for message in shallow.messages()].count("603") == 1  # 302 lines added, 301 removed
    assert not any(message.startswith(("301", "304")) for message in shallow.messages())  # the size of the oldest


def test_a_shallow_clone_skips_a_merge_that_it_cannot_see_to_be_one(repository, tmp_path):
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit("Work on the side")
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "side", "--message", "merges everything.")
    assert clone(repository, 1, tmp_path / "shallow").checked() == []


def test_a_shallow_clone_from_before_the_rule_checks_from_the_rule_on(tmp_path):
    repository = Repository(tmp_path / "repository")
    repository.commit("wrong.")
    repository.commit("still wrong.")
    repository.add_rule()
    assert clone(repository, 2, tmp_path / "shallow").checked() == ["Check commits"]


# --- the program ----------------------------------------------------------------------------------------------------


def run(root: Path, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / RULE, root]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


def test_a_breach_names_its_commit_and_ends_with_1(repository):
    digest = repository.commit("wrong.")
    result = run(repository.root)
    assert result.returncode == 1
    assert f"{digest[:10]} 'wrong.': the subject ends with a full stop; leave it out" in result.stdout


def test_the_settings_of_a_user_and_of_a_hook_change_nothing(repository, tmp_path):
    repository.commit("Add rows\n\nThe sweep reads them.", rows=2000)
    (tmp_path / ".gitconfig").write_text("[diff]\nrenames = false\n[log]\ndate = human\nshowRoot = false\n")
    result = run(repository.root, HOME=str(tmp_path), GIT_DIR="/nowhere", GIT_INDEX_FILE="/nowhere")
    assert (result.returncode, result.stdout.strip()) == (0, "commits: 2 in order")


def test_a_folder_without_history_is_reported_and_passes(tmp_path):
    result = run(tmp_path)
    assert result.returncode == 0
    assert "no git history" in result.stdout


def test_a_history_that_git_cannot_read_fails(tmp_path):
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert "git cannot read the history" in result.stdout


def test_a_worktree_is_a_repository_too(repository, tmp_path):
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert run(tmp_path / "tree").stdout.strip() == "commits: 1 in order"
