#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""older_kernel.py LAST PROGRAM [ARGUMENT...] - run a program as on a kernel whose last system call has the number LAST, and that
has no bpf(): the others fail with ENOSYS, in what it starts, too."""

import ctypes
import os
import struct
import sys

BPF, ENOSYS = 321, 38
LOAD, IF_GREATER, IF_EQUAL, RETURN = 0x20, 0x25, 0x15, 0x06
REFUSED, ALLOWED = 0x00050000 | ENOSYS, 0x7FFF0000


def refuse_newer(last):
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (LOAD, 0, 0, 0), (IF_GREATER, 2, 0, last), (IF_EQUAL, 1, 0, BPF), (RETURN, 0, 0, ALLOWED), (RETURN, 0, 0, REFUSED)))
    program = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    libc.prctl(38, 1, 0, 0, 0) if os.getuid() else None  # no new rights, without which only root may
    prog = struct.pack("HxxxxxxP", 5, ctypes.addressof(program))
    held = ctypes.create_string_buffer(prog, len(prog))
    if libc.prctl(22, 2, ctypes.addressof(held), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


refuse_newer(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
