# SPDX-License-Identifier: MIT
"""The command lines that the texts print: README, the pages for users, the manual pages and the programs' help."""

import re

import offered

INPUTS = ("rules", "check", "replay", "config")  # options whose FILE is read
# What an option stands with.
COMMANDS = {
    "run": "jobmeter run {} -- true",
    "watch": "jobmeter watch --pid $SLEEPER --duration 0.3 {}",
    "trace": "jobmeter trace {} -- true",
    "top": "jobmeter top --batch -n 1 -d 0.1 {}",
    "report": "jobmeter report {} run.json",
    "compare": "jobmeter compare {} run.json new.json",
    "seff": "jobmeter seff {} run.json",
    "insights": "jobmeter insights {} run.json",
    "doctor": "jobmeter doctor --no-costs {}",
    "energy": "jobmeter energy {}",
    "gpu": "jobmeter gpu {}",
    "advise": "jobmeter advise {} -- -N 2",
    "predict": "jobmeter predict {} -- -N 2",
    "jobs": "jobmeter jobs {}",
    "usage": "jobmeter usage --database jobs.db {}",
    "up": "jobmeter up {} --state up-state",
}
VALUES = {"N": "7", "ID": "123", "NAME[,NAME]": "mpi-io", "LEVEL": "profile", "PERCENT": "3", "PROBE": "'libz.so*:compress2'",
          "S": "0.3", "PID": "$SLEEPER", "USER": "$NAME", "NAME": "$NAME", "DIR": "/", "CxR": "80x24", "PATH": "/",
          "ID[,ID]": "123,slurm/124", "LIST": "totals", "ACCOUNT": "physics", "COLUMN": "account", "PARTITION": "debug", "STATE": "running", "TIME": "36h", "TEXT": "train",
          "FILE|URL": "jobs.db", "DATABASE": "sqlite:jobs.db", "ADDRESS": "127.0.0.1:19841", "PORT": "19840", "URL": "http://127.0.0.1:1", "SCOPE": "user", "PERIOD": "week", "DAYS": "90d", "CONDITION": "'elapsed > 1.1x'"}
AT_ONCE = ("report", "compare", "seff", "insights")
# What does not go with what the command does else.
ALONE = {("insights", "list"): "", ("insights", "names"): "", ("insights", "check"): "", ("doctor", "no-costs"): "", ("doctor", "quick"): "--json",
         ("top", "standalone"): "--json -n 1 -d 0.1", ("top", "json"): "-n 1 -d 0.1",
         ("up", "state"): "", ("trace", "list"): "", ("trace", "job"): "--duration 0.3",
         ("trace", "pid"): "--duration 0.3",
         **{("watch", option): "--duration 0.3" for option in ("job", "user", "pid", "cgroup")},
         **{("run", option): "--output made -- true" for option in ("format", "json", "by")}}
# Of a page's own names, those that are other ones here.
HERE = {r"\bada\b": "$NAME", r"\b4711\b": "$SLEEPER", r"\brun/\d+\b": "run/$SLEEPER", r"--duration \d+": "--duration 0.3",
        "/dev/shm/log": "log"}


def of_text(text):
    """Lines that are a command, as they would be typed: neither what is said beside them nor what they print."""
    for line in text.splitlines():
        line = re.sub(r"\s{2,}.*", "", re.sub(r"^(\$ | {4})", "", line.rstrip()))  # what is behind two blanks explains
        line = re.sub(r" ?\[[A-Z][^]]*\]", "", line)  # "[FILE|FOLDER]"
        if re.match(r"(srun .*|build/)?jobmeter(-agent)? ?", line):
            yield line


def of_docs(text):
    """Those of its blocks: between fences, and indented by four."""
    fenced = "\n".join(re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    typed = re.findall(r"^\$ .*$", fenced, re.MULTILINE) + re.findall(r"^ {4}\S.*$", text, re.MULTILINE)
    return list(of_text("\n".join(typed)))


def of_page(text):
    """Those of the examples of a manual page."""
    part = re.search(r"^\.SH EXAMPLES$(.*?)(?=^\.SH|\Z)", text, re.MULTILINE | re.DOTALL)
    blocks = "\n".join(re.findall(r"^\.EX$(.*?)^\.EE$", part[1], re.MULTILINE | re.DOTALL)) if part else ""
    plain = re.sub(r"\\\(aq", "'", blocks.replace("\\-", "-"))
    return list(of_text("\n".join(line for line in plain.splitlines() if not line.startswith(" "))))


def of_help(programs):
    """Each option of each command by its name and by its letter; of a choice each word, where that takes no measuring."""
    for invocation in offered.invocations(programs):
        name = "".join(invocation[1:])
        if invocation[0] == "jobmeter-server":  # which would serve
            for letter, option, argument in offered.options(programs, invocation):
                value = "/dev/null" if option == "config" else value_of(option, argument)
                yield f"jobmeter-server --dump-config --{option} {value}".strip()
            continue
        for letter, option, argument in offered.options(programs, invocation):
            words = choice_of(programs, invocation, option)
            values = words if name in AT_ONCE else words[-1:]
            for value in values or [value_of(option, argument)]:
                yield line_with(name, option, f"--{option} {value}".strip())
            if letter:
                yield line_with(name, option, f"-{letter}{(values or [value_of(option, argument)])[0]}")


def choice_of(programs, invocation, option):
    text = offered.help_of(programs / invocation[0], *invocation[1:])
    words = re.search(rf"^ .* --{option} .*: ((?:\w+, )+\w+)$", text, re.MULTILINE)
    return words[1].split(", ") if words else []


def line_with(name, option, words):
    if not name:
        return f"jobmeter-agent {words}" if option != "insecure" else f"jobmeter-agent --check-config {words}"
    if (name, option) in ALONE:
        return f"jobmeter {name} {words} {ALONE[name, option]}".strip()
    return COMMANDS[name].format(words)


def value_of(option, argument):
    if argument == "FILE":
        return {"replay": "night.ndjson", "config": "agent.yaml"}.get(option, "site.yaml") if option in INPUTS else f"{option}.json"
    if option == "state":
        return "up-state" if argument == "DIR" else VALUES[argument]
    return VALUES[argument] if argument else ""


def here(line):
    """With names that there are on this machine."""
    for name, other in HERE.items():
        line = re.sub(name, other, line)
    return line
