# SPDX-License-Identifier: MIT
"""straced - what a program does to files, by strace's account: the source that is not ours.

Not seen by strace, and so not in these counts: what is asked for through io_uring, pages of mappings,
and the kernel's own reads at execve."""

import collections
import os
import re
import subprocess

from compare import Counts, DATA_OPS, UNRESOLVED, ZERO

# Where a call names its file: a descriptor argument; the result, or where it failed a path; a path,
# relative to a descriptor argument or to none; or nowhere.
Descriptor = collections.namedtuple("Descriptor", "argument")
Result = collections.namedtuple("Result", "folder path")
Path = collections.namedtuple("Path", "folder path before", defaults=(None,))  # before: the old path
PathOrDescriptor = collections.namedtuple("PathOrDescriptor", "folder path")  # where there is no path
Nowhere = collections.namedtuple("Nowhere", "")


def calls(op, where, *names):
    return {name: (op, where) for name in names}


# System call: the operation and where its file is named.  A path is that by which the place is told:
# the new one of two.
PLAIN = {
    **calls("read", Descriptor(0), "read", "pread64", "readv", "preadv", "preadv2"),
    **calls("write", Descriptor(0), "write", "pwrite64", "writev", "pwritev", "pwritev2"),
    **calls("open", Result(None, 0), "open", "creat"),  # whether it creates strace cannot tell
    **calls("open", Result(0, 1), "openat", "openat2"),
    **calls("close", Descriptor(0), "close"),
    **calls("stat", Path(None, 0), "stat", "lstat"),
    **calls("stat", Descriptor(0), "fstat"),
    **calls("stat", PathOrDescriptor(0, 1), "newfstatat", "statx"),
    **calls("access", Path(None, 0), "access"),
    **calls("access", Path(0, 1), "faccessat", "faccessat2"),
    **calls("readdir", Descriptor(0), "getdents", "getdents64"),
    **calls("readlink", Path(None, 0), "readlink"),
    **calls("readlink", Path(0, 1), "readlinkat"),
    **calls("statfs", Path(None, 0), "statfs"),
    **calls("statfs", Descriptor(0), "fstatfs"),
    **calls("rename", Path(None, 1, Path(None, 0)), "rename"),
    **calls("rename", Path(2, 3, Path(0, 1)), "renameat", "renameat2"),
    **calls("link", Path(None, 1, Path(None, 0)), "link"),
    **calls("link", Path(2, 3, Path(0, 1)), "linkat"),
    **calls("symlink", Path(None, 1), "symlink"),
    **calls("symlink", Path(1, 2), "symlinkat"),
    **calls("unlink", Path(None, 0), "unlink"),
    **calls("unlink", Path(0, 1), "unlinkat"),  # or rmdir
    **calls("mkdir", Path(None, 0), "mkdir"),
    **calls("mkdir", Path(0, 1), "mkdirat"),
    **calls("rmdir", Path(None, 0), "rmdir"),
    **calls("mknod", Path(None, 0), "mknod"),
    **calls("mknod", Path(0, 1), "mknodat"),
    **calls("truncate", Path(None, 0), "truncate"),
    **calls("truncate", Descriptor(0), "ftruncate"),
    **calls("fallocate", Descriptor(0), "fallocate"),
    **calls("chmod", Path(None, 0), "chmod"),
    **calls("chmod", Descriptor(0), "fchmod"),
    **calls("chmod", Path(0, 1), "fchmodat", "fchmodat2"),
    **calls("chown", Path(None, 0), "chown", "lchown"),
    **calls("chown", Descriptor(0), "fchown"),
    **calls("chown", Path(0, 1), "fchownat"),
    **calls("utime", Path(None, 0), "utime", "utimes"),
    **calls("utime", PathOrDescriptor(0, 1), "utimensat", "futimesat"),
    **calls("xattr", Path(None, 0), "setxattr", "lsetxattr", "getxattr", "lgetxattr", "listxattr",
            "llistxattr", "removexattr", "lremovexattr"),
    **calls("xattr", Descriptor(0), "fsetxattr", "fgetxattr", "flistxattr", "fremovexattr"),
    **calls("fsync", Descriptor(0), "fsync"),
    **calls("fdatasync", Descriptor(0), "fdatasync"),
    **calls("sync", Descriptor(0), "syncfs", "sync_file_range"),
    **calls("sync", Nowhere(), "sync", "msync"),
}

# From file to file inside the kernel, a read and a write at once: where the two descriptors stand.
Passing = collections.namedtuple("Passing", "way input output")
PASSING = {
    "sendfile": Passing("sendfile", 1, 0),
    "copy_file_range": Passing("copy_file_range", 0, 2),
    "splice": Passing("splice", 0, 2),
}

# Of libaio the ends count; what they are the ends of is told at the begin.
SUBMIT, REAP = "io_submit", ("io_getevents", "io_pgetevents")
IOCB_OPS = {"PREAD": "read", "PREADV": "read", "PWRITE": "write", "PWRITEV": "write"}
IOCB = re.compile(r"aio_data=(\w+).*?aio_lio_opcode=IOCB_CMD_(\w+), aio_fildes=(-?\d+(?:<[^>]*>)?)")
IO_EVENT = re.compile(r"\{data=(\w+), obj=\w+, res=(-?\d+)")

STARTED = re.compile(r"(\d+) +(\w+)\((.*?)(?: *<unfinished \.\.\.>)?$")
RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)$")
RESULT = re.compile(r".*\) += (-?\d+|\?)(.*)$")
ERROR = re.compile(r"\s*(E[A-Z0-9_]+)\b")
FILE = re.compile(r"(?:-?\d+|AT_FDCWD)<(.*?)>")

# What no comma parts: strings, descriptors with their files, brackets.
PIECE = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|(?:\d+|AT_FDCWD)<[^>]*>|[\[({]|[\])}]|,|[^",\[({\])}]')


def trace(output, *argv, more=(), elements=0):
    """Run @argv and return strace's lines; -y shows a descriptor's file as it is at the call's entry.

    @more: further system calls to show; @elements: of arrays, and bytes of strings that are no paths,
    that strace is to show; libaio's requests are arrays."""
    names = [*PLAIN, *PASSING, SUBMIT, *REAP, "rt_sigreturn", *more]
    expression = ",".join("?" + name for name in names)  # ?: if this strace and machine know it
    subprocess.run(
        ["strace", "-f", "-y", "-s", str(elements), "-o", output, "-e", f"trace={expression}",
         *map(str, argv)],
        check=True,
    )
    with open(output, errors="surrogateescape") as lines:
        return lines.read().splitlines()


def arguments(text):
    """The arguments of a call, from what stands behind its opening bracket."""
    found, depth = [""], 0
    for piece in PIECE.findall(text):
        if piece in "[({":
            depth += 1
        elif piece in "])}":
            depth -= 1
            if depth < 0:
                break
        if piece == "," and depth == 0:
            found.append("")
        else:
            found[-1] += piece
    return [argument.strip() for argument in found]


def unquote(argument):
    """A path; None: it is no string, but NULL or an address that cannot be read."""
    if not argument.startswith('"'):
        return None
    text = argument[1:argument.rindex('"')]
    return text.encode("latin-1", "surrogateescape").decode("unicode_escape").encode("latin-1").decode(
        errors="surrogateescape")


def file_of(argument):
    """The file of a descriptor; None: it has none."""
    match = FILE.match(argument)
    return match[1] if match else None


def place_of_file(path, folders):
    if path.startswith("pipe:"):
        return "(pipe)"
    if path.startswith("socket:"):
        return "(socket)"
    if path.startswith(("anon_inode:", "/memfd:", "/proc/", "/sys/")):
        return "(pseudo)"
    inside = [f for f in folders if path == f or path.startswith(f.rstrip("/") + "/")]
    return max(inside, key=len) if inside else path


def joined(folder, path, is_too_long):
    """A path as the walk takes it, by its letters alone; None: nothing of it is searched."""
    if not path or is_too_long:
        return None
    if path.startswith("/"):
        return os.path.normpath(path)
    return os.path.normpath(f"{folder}/{path}") if folder else None


class Sum:
    """{(place, op, way, by): Counts}, fed with lines."""

    def __init__(self, folders):
        self.folders = folders
        self.counts = collections.defaultdict(lambda: ZERO)
        self.started = {}  # by task: the line of a call that is not over
        self.interrupted = {}  # by task: a call that a signal interrupted, until it is known how
        self.submitted = collections.defaultdict(list)  # by task and data: (place, op) of libaio

    def note(self, key, result, error=""):
        is_data = key[1] in DATA_OPS
        self.counts[key] += Counts(1, result if is_data and result > 0 else 0, int(result < 0),
                                   int(error == "ENOENT"))

    def place_of_descriptor(self, argument):
        path = file_of(argument)
        return place_of_file(path, self.folders) if path else UNRESOLVED

    def place_of_path(self, args, where, error):
        folder = None if where.folder is None else file_of(args[where.folder])
        is_too_long = error == "ENAMETOOLONG" and args[where.path].endswith("...")
        path = joined(folder, unquote(args[where.path]), is_too_long)
        if getattr(where, "before", None) and self.place_of_path(args, where.before, error) == UNRESOLVED:
            return UNRESOLVED
        return place_of_file(path, self.folders) if path else UNRESOLVED

    def place(self, where, args, result_text, error):
        """(place, by)"""
        if isinstance(where, Nowhere):
            return UNRESOLVED, "path"
        if isinstance(where, Result) and not error:
            return self.place_of_descriptor(result_text), "result"
        if isinstance(where, Descriptor):
            return self.place_of_descriptor(args[where.argument]), "descriptor"
        if isinstance(where, PathOrDescriptor):
            if args[where.path] == "NULL" or (args[where.path] == '""' and "AT_EMPTY_PATH" in args[-1] +
                                              args[2]):
                return self.place_of_descriptor(args[where.folder]), "descriptor"
        return self.place_of_path(args, where, error), "path"

    def keys(self, name, args, result_text, error):
        """What one call counts as: one or two (place, op, way, by)."""
        if name in PASSING:
            p = PASSING[name]
            return [(self.place_of_descriptor(args[p.input]), "read", p.way, "descriptor"),
                    (self.place_of_descriptor(args[p.output]), "write", p.way, "descriptor")]
        op, where = PLAIN[name]
        if name == "unlinkat" and "AT_REMOVEDIR" in args[2]:
            op = "rmdir"
        place, by = self.place(where, args, result_text, error)
        return [(place, op, "call", by)]

    def submit(self, task, text, count):
        requests = IOCB.findall(text)
        assert len(requests) >= count, f"strace was not asked for the elements of arrays: {text}"
        for data, opcode, fd in requests[:max(count, 0)]:
            if opcode in IOCB_OPS:
                key = self.place_of_descriptor(fd), IOCB_OPS[opcode], "libaio", "descriptor"
                self.submitted[task, int(data, 0)].append(key)

    def reap(self, task, text):
        """A program that gives its requests no data of their own, or reaps them in another task, must
        not mix files and operations."""
        for data, result in IO_EVENT.findall(text):
            self.note(self.submitted[task, int(data, 0)].pop(0), int(result))

    def end(self, task, name, text):
        result = RESULT.match(text)
        if not result:
            return
        value, rest = result.groups()
        if name == "rt_sigreturn":
            if "EINTR" in rest:
                for key in self.interrupted.get(task, ()):
                    self.note(key, -1)
            self.interrupted.pop(task, None)
        elif name.startswith("syscall_"):  # newer than this strace, which shows it unasked
            pass
        elif name == SUBMIT:
            self.submit(task, text, int(value))
        elif name in REAP:
            self.reap(task, text)
        else:
            failed = value in ("-1", "?") and ERROR.match(rest)
            error = failed[1] if failed else ""
            keys = self.keys(name, arguments(text), value + rest, error)
            if error.startswith("ERESTART"):
                self.interrupted[task] = keys
            elif value != "?":
                for key in keys:
                    self.note(key, int(value), error)

    def feed(self, line):
        resumed = RESUMED.match(line)
        if resumed:
            task, name, rest = resumed.groups()
            return self.end(task, name, self.started.pop(task) + rest)
        started = STARTED.match(line)
        if not started:  # signals, exits
            return None
        task, name, rest = started.groups()
        if line.endswith("<unfinished ...>"):
            self.started[task] = rest
            return None
        return self.end(task, name, rest)


def counts(lines, folders=()):
    """{(place, op, way, by): Counts}; a place is the deepest of @folders, else the file itself."""
    total = Sum(folders)
    for line in lines:
        total.feed(line)
    return dict(total.counts)


def opens_together(counts):
    """strace does not say whether an open created the file: the same with "create" in "open", for keys
    whose second part is the operation."""
    total = collections.defaultdict(lambda: ZERO)
    for key, n in counts.items():
        total[key[0], "open" if key[1] == "create" else key[1], *key[2:]] += n
    return dict(total)
