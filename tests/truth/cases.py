# SPDX-License-Identifier: MIT
"""cases - how the truth program is run, on the host's kernel and in guests: {name: options}."""

CASES = {
    "one process": [],
    "threads": ["--threads", "7", "--repeat", "3"],
    "40 processes": ["--processes", "40"],
    "100 blocked": ["--blocked", "100", "--processes", "2"],
    "dup2": ["--dup2"],
    "signals": ["--signals"],
    "exec": ["--exec"],
    "all": ["--processes", "3", "--threads", "2", "--blocked", "7", "--dup2", "--signals", "--exec"],
    "metadata": ["--meta"],
    "metadata of threads": ["--meta", "--threads", "5", "--processes", "2", "--repeat", "2"],
    "sendfile": ["--sendfile"],
    "splice": ["--splice"],
    "copy_file_range": ["--copy-file-range"],
    "io_uring": ["--io-uring"],
    "libaio": ["--libaio"],
    "all ways": ["--ways", "--threads", "3", "--processes", "2"],
    "storm": ["--storm", "2003", "1009"],
}

# These want a folder on storage, which a memory file system is not.
MAPPED_CASES = {
    "mapping": lambda disk: ["--mapped", disk],
}

# Those that have many tasks at once: what a kernel that preempts everywhere may get wrong.
CROWDED = ("100 blocked", "all", "metadata of threads", "all ways")


def chained(programs, cases, folder, mounts):
    """The command that runs the truth program so, one case after the other; each writes truthN.json in @folder."""
    truth = programs / "tests/truth"
    command = []
    for number, options in enumerate(cases):
        command += [",", truth / "truth", "--output", folder / f"truth{number}.json", "--mount", mounts.a, "--mount", mounts.b,
                    "--bind", mounts.bind, "--mount", mounts.plain, "--device", "/dev/zero", *options]
    return [truth / "chain", *command[1:]]
