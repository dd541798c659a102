"""Run the examples of one page in order, as a reader would: Python in one interpreter, each command in a shell."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from autotune.site.local.ports import listens
from tests.support import answers
from tests.support.concurrency import until
from tests.support.snippets import Snippet

PATIENCE_S = 100
INTERPRETER = """
import json, os, sys, traceback
answers = os.fdopen(int(sys.argv[1]), "w")
names = {"__name__": "__main__"}
for line in sys.stdin:
    name, source = json.loads(line)
    try:
        exec(compile(source, name, "exec"), names)
        error = None
    except BaseException:
        error = traceback.format_exc()
    sys.stdout.flush()
    print(json.dumps(error), file=answers, flush=True)
"""


class ExampleFailed(AssertionError):
    """An example does not work as written."""


class Notebook:
    """A context manager that runs a page's examples; on exit, it ends every process that the page started.

    folder        the reader's working folder; files that the page saves are here
    env           the environment of every example
    replacements  {a placeholder of the page: the reader's own value}; grows with the ids of answers
    assumed       {a name that a page takes for granted: the Python source that defines it}
    """

    def __init__(
        self, folder: Path, env: dict[str, str], *, replacements: dict[str, str], assumed: dict[str, str]
    ) -> None:
        self.folder, self.env, self.replacements, self.assumed = folder, env, replacements, assumed
        self.background: list[subprocess.Popen] = []
        self._interpreter: subprocess.Popen | None = None
        self._defined_names: set[str] = set()

    def __enter__(self) -> "Notebook":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._interpreter is not None:
            self._interpreter.stdin.close()
            self._interpreter.wait(20)
            self._answers.close()
        for process in self.background:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)

    def run(self, snippet: Snippet) -> str:
        """Run the example and return what it printed; '' for one that continues in the background.

        raises ExampleFailed with the example's own error
        """
        source = self._with_own_values(snippet.source)
        self._define(snippet.assumed_names)
        if snippet.file:
            (self.folder / snippet.file).write_text(source)
            return self._python(str(snippet), f"import {snippet.file.removesuffix('.py')}")
        if snippet.script:
            (self.folder / snippet.script).write_text(source)
            return self._shell(str(snippet), "; ".join([f"python {snippet.script}"] * snippet.times))
        if snippet.language == "python":
            return self._python(str(snippet), source)
        if snippet.surroundings == "background":
            command = ["bash", "-euc", source]
            out = (self.folder / "background.log").open("ab")
            self.background.append(
                subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=out, stderr=out, start_new_session=True)
            )
            for port in re.findall(r"--port (\d+)", source):
                until(lambda port=int(port): listens(port))
            return ""
        return self._shell(str(snippet), source)

    def check(self, snippet: Snippet, answer: Snippet) -> None:
        """Run an example that makes one request, and compare the answer that the page shows with the real one.

        The ids of the real answer replace those of the page in all later examples.
        raises ExampleFailed with every difference
        """
        self._define(snippet.assumed_names)
        settings = self.folder / "curl"
        settings.mkdir(exist_ok=True)
        (settings / ".curlrc").write_text('write-out = "\\n%{http_code}"\n')
        printed = self._shell(str(snippet), self._with_own_values(snippet.source), {"CURL_HOME": str(settings)})
        body, _, status = printed.rpartition("\n")
        if status != answer.what:
            raise ExampleFailed(f"{snippet}: status {status}, the page shows {answer.what}:\n{body}")
        shown = json.loads(self._with_own_values(answer.source, ids=False))
        actual = json.loads(body)
        if differing := answers.differences(shown, actual):
            raise ExampleFailed(f"{answer}:\n" + "\n".join([*differing, json.dumps(actual, indent=1)]))
        self.replacements.update(answers.ids(shown, actual))

    def _define(self, names: list[str]) -> None:
        """Define the names that a page takes for granted, each once."""
        for name in names:
            if name not in self._defined_names:
                self._defined_names.add(name)
                self._python(f"given {name}", self.assumed[name])

    def _with_own_values(self, source: str, *, ids: bool = True) -> str:
        """Return the source with the reader's values instead of the page's. An answer may show other ids."""
        for placeholder, value in self.replacements.items():
            if ids or not answers.PLACEHOLDER.fullmatch(placeholder):
                source = source.replace(placeholder, value)
        return source

    def _shell(self, name: str, source: str, extra_env: dict[str, str] | None = None) -> str:
        shell = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", source], cwd=self.folder, stdin=subprocess.DEVNULL,
            env={**self.env, **(extra_env or {})},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        if shell.returncode:
            raise ExampleFailed(f"{name} ended with status {shell.returncode}:\n{shell.stdout}")
        return shell.stdout

    def _python(self, name: str, source: str) -> str:
        if self._interpreter is None:
            self._start()
        log = self.folder / "python.log"
        previous_size = log.stat().st_size
        self._interpreter.stdin.write(json.dumps([name, source]) + "\n")
        self._interpreter.stdin.flush()
        answer = self._answers.readline()
        error = json.loads(answer) if answer else "the interpreter ended"
        if error:
            raise ExampleFailed(f"{name}:\n{error}")
        return log.read_bytes()[previous_size:].decode()

    def _start(self) -> None:
        read_end, write_end = os.pipe()
        self._interpreter = subprocess.Popen(
            [sys.executable, "-c", INTERPRETER, str(write_end)], cwd=self.folder, env=self.env, stdin=subprocess.PIPE,
            stdout=(self.folder / "python.log").open("ab"), pass_fds=[write_end], text=True,
        )  # fmt: skip
        os.close(write_end)
        self._answers = os.fdopen(read_end)
