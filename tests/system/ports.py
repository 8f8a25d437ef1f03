# SPDX-License-Identifier: MIT
"""Ports for servers of tests."""

import random
import socket


def free_ports(count):
    """Below those that the kernel gives to whoever connects, which may take one before its server has it."""
    ports = set()
    while len(ports) < count:
        port = random.randrange(10007, 32768)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.add(port)
    return list(ports)
