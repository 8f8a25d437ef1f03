# SPDX-License-Identifier: MIT
"""Completion in bash, zsh and fish: driven in the shells themselves, against what the programs' help lists."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import offered
import pytest

SHELLS = {"bash": "{}", "zsh": "_{}", "fish": "{}.fish"}

BASH = """
source "$SCRIPT"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_$1
printf '%s\\n' "${COMPREPLY[@]}"
"""

# The completion system works at a prompt only: that of a zsh of its own, where whatever is offered is noted, too.
ZSH_RC = r"""
PS1='' zle_bracketed_paste=() LISTMAX=10000
fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a offered
	if ((! ${@[(I)-[OAD]*]})); then
		builtin compadd -O offered "$@"
		print -rl -- $offered >>$OFFERED
	fi
	builtin compadd "$@"
}
finished() { : >$DONE; comppostfuncs=(finished) }
comppostfuncs=(finished)
print REA''DY
"""


class Prompt:
    """An interactive zsh, whose completion system is loaded once: that takes longer than all that is asked of it."""

    def __init__(self, folder, scratch):
        self.offers, self.done, rc = (scratch / name for name in ("offered", "done", "rc"))
        rc.write_text(ZSH_RC)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "FOLDER": str(folder), "OFFERED": str(self.offers), "DONE": str(self.done),
                                                    "RC": str(rc), "HOME": str(scratch), "TERM": "dumb"})
        self.said = b""
        self.type(b"source $RC\n", lambda: b"READY" in self.said)

    def type(self, text, is_answered):
        os.write(self.terminal, text)
        deadline = time.monotonic() + 60
        while not is_answered():
            assert time.monotonic() < deadline, self.said
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.said += os.read(self.terminal, 4096)

    def offered(self, text):
        self.offers.write_text("")
        self.done.unlink(missing_ok=True)
        self.type(text.encode() + b"\t", self.done.exists)
        os.write(self.terminal, b"\x15")  # the line goes
        return self.offers.read_text().split()

    def close(self):
        os.close(self.terminal)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module")
def prompt(folder, tmp_path_factory):
    """prompt(): the module's own zsh, once somebody needs it."""
    prompts = []

    def get():
        if not prompts:
            prompts.append(Prompt(folder, tmp_path_factory.mktemp("zsh")))
        return prompts[0]

    yield get
    for one in prompts:
        one.close()


@pytest.fixture(scope="module")
def folder(programs):
    return programs / "share/completion"


@pytest.fixture(params=SHELLS)
def shell(request, demand):
    demand(shutil.which(request.param), f"{request.param} is not installed")
    return request.param


def run(*argv, **environment):
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def complete(folder, tmp_path, demand, prompt):
    """complete(shell, word...): what stands for the last word."""

    def bash(words):
        script = folder / SHELLS["bash"].format(words[0])
        code, out, said = run("bash", "--norc", "-i", "-c", BASH, "bash", *words, SCRIPT=str(script))
        assert code == 0, said
        return out.split()

    def fish(words):
        script = folder / SHELLS["fish"].format(words[0])
        code, out, said = run("fish", "--no-config", "-c", f"source {script}; complete -C '{' '.join(words)}'",
                              HOME=str(tmp_path))
        assert (code, said) == (0, "")
        return [line.split("\t")[0] for line in out.splitlines()]

    def zsh(words):
        return prompt().offered(" ".join(words))

    def complete(shell, *words):
        demand(shutil.which(shell), f"{shell} is not installed")
        return {"bash": bash, "fish": fish, "zsh": zsh}[shell](list(words))

    return complete


def parsed(folder, shell, program):
    return run(shell, "-n", folder / SHELLS[shell].format(program))


def test_the_shell_can_read_it(folder, shell):
    for program in ("jobmeter", "jobmeter-agent", "jobmeter-server"):
        assert parsed(folder, shell, program) == (0, "", "")


def test_shellcheck_finds_nothing_in_bash(folder, demand):
    demand(shutil.which("shellcheck"), "shellcheck is not installed")
    for program in ("jobmeter", "jobmeter-agent", "jobmeter-server"):
        code, out, _ = run("shellcheck", folder / program)
        assert code == 0, out


def test_each_command_is_offered_and_nothing_else(programs, complete, shell):
    found = {word for word in complete(shell, "jobmeter", "") if not word.startswith("-")}
    assert found == set(offered.commands(programs))


def test_each_option_is_offered_and_nothing_else(programs, complete, shell):
    for invocation in offered.invocations(programs):
        found = {word.rstrip("=") for dash in ("-", "--") for word in complete(shell, *invocation, dash)
                 if word.startswith("-")}
        wanted = offered.flags(programs, invocation)
        if shell == "zsh":  # offers each by its longer name
            found, wanted = ({word for word in words if word.startswith("--")} for words in (found, wanted))
        assert found == wanted, f"{shell}: {' '.join(invocation)}"


def choices(programs, invocation):
    """{option: words}, of options that take one of some words"""
    text = offered.help_of(programs / invocation[0], *invocation[1:])
    return {name: words.split(", ") for name, words in re.findall(r"--([a-z-]+) [A-Z]+ .*: (\S+(?:, \S+)+)$", text,
                                                                  re.MULTILINE)}


def test_words_are_offered_where_only_these_will_do(programs, complete, shell):
    checked = 0
    for invocation in offered.invocations(programs):
        for option, words in choices(programs, invocation).items():
            if option in ("job",):  # its help gives examples
                continue
            assert set(complete(shell, *invocation, f"--{option}", "")) == set(words), (shell, invocation, option)
            checked += 1
    assert checked >= 8


def test_formats_are_those_of_the_command(complete):
    assert "html" in complete("bash", "jobmeter", "report", "--format", "")
    assert "html" not in complete("bash", "jobmeter", "watch", "--format", "")
    assert "csv" not in complete("bash", "jobmeter", "doctor", "-f", "")


def test_bash_cuts_words_at_equals(complete):
    assert complete("bash", "jobmeter", "run", "--format", "=", "ym") == []
    assert complete("bash", "jobmeter", "run", "--format", "=", "y") == ["yaml"]
    assert "json" in complete("bash", "jobmeter", "run", "--format", "=")


def test_lists_go_on_behind_a_comma(complete):
    assert complete("bash", "jobmeter", "run", "--tiers", "files,t") == ["files,totals"]
    assert "totals,files" in complete("fish", "jobmeter", "run", "--tiers", "totals,f")


def test_files_are_offered_where_files_are_wanted(complete, shell, tmp_path):
    (tmp_path / "record-of-mine.json").touch()
    (tmp_path / "record-folder").mkdir()
    begin = f"{tmp_path}/record-"
    for words in (["report", begin], ["report", "--output", begin], ["compare", "one.json", begin]):
        found = [os.path.basename(word.rstrip("/")) for word in complete(shell, "jobmeter", *words)]
        assert {"record-of-mine.json", "record-folder"} <= set(found), (shell, words)
    found = [os.path.basename(word.rstrip("/")) for word in complete(shell, "jobmeter", "doctor", "--root", begin)]
    assert "record-folder" in found and "record-of-mine.json" not in found


def test_a_command_behind_run_is_completed_as_itself(complete):
    assert "chmod" in complete("bash", "jobmeter", "run", "--", "chmo")
    assert "chmod" in complete("bash", "jobmeter", "run", "-w", "--tiers", "totals", "chmo")
    assert "chmod" in complete("fish", "jobmeter", "run", "chmo")
    assert "chmod" in complete("zsh", "jobmeter", "run", "chmo")
    assert "--output" not in complete("bash", "jobmeter", "run", "tar", "--outp")


def test_options_are_offered_where_nothing_else_is_taken(complete):
    assert "--job" in complete("bash", "jobmeter", "watch", "")
    assert complete("bash", "jobmeter", "report", "--nothing") == []
    assert complete("bash", "jobmeter", "nothing", "-") == []
