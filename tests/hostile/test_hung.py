# SPDX-License-Identifier: MIT
"""A mount that does not answer stops nothing: it is named, and all else goes on."""

import ctypes
import os
import signal

from agent_pages import ask, await_page

LIBC = ctypes.CDLL(None, use_errno=True)
SIZE = "jobmeter_node_filesystem_size_bytes"


def missing(agent):
    return [text for text in ask(agent, "/v1/agent")["missing"] if "does not answer" in text]


def sizes(page):
    return {labels["mount"] for labels, _ in page.of(SIZE)}


def test_a_hung_mount_is_named_and_all_else_goes_on(start_agent, bench, keeper):
    place, local = bench.folder / "hung", bench.folder / "local"
    place.mkdir()
    local.mkdir()
    keeper.run("mount", "-t", "tmpfs", "-o", "size=1m", "local", local, undo=["umount", "-l", local])
    agent = start_agent(filesystems=["fuse", "tmpfs"])
    await_page(agent, lambda page: str(local) in sizes(page))
    fuse = os.open("/dev/fuse", os.O_RDWR)  # a server that never reads a request
    keeper.undo("umount", "-l", place)
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse
    assert LIBC.mount(b"hung", bytes(place), b"fuse", 0, options) == 0, os.strerror(ctypes.get_errno())
    try:
        await_page(agent, lambda page: missing(agent) == [f"free space of the node's file systems: {place} does not answer"])
        for _ in range(3):  # it is not asked again, and costs nobody anything
            page = await_page(agent, lambda page: True)
            assert str(local) in sizes(page) and str(place) not in sizes(page)
        assert agent.end(signal.SIGTERM) == 0
    finally:
        os.close(fuse)
