# SPDX-License-Identifier: MIT
"""Modules of a kernel for a guest, with all that they need, laid out as modprobe wants them."""

import lzma
import re


def canonical(name):
    return name.replace("-", "_")


class Modules(dict):
    """{name: content} of the modules @names of @kernel and of those that they need.  What is built in
    is left out; KeyError: the kernel has no such module."""

    def __init__(self, kernel, names):
        super().__init__()
        self.files = {canonical(path.name.split(".")[0]): path for path in kernel.glob("modules/kernel/**/*.ko*")}
        builtin = (kernel / "modules/modules.builtin").read_text().split()
        self.builtin = {canonical(line.rpartition("/")[2].removesuffix(".ko")) for line in builtin}
        for name in names:
            self.take(canonical(name))

    def take(self, name):
        if name in self or name in self.builtin:
            return
        path = self.files[name]
        self[name] = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        for needed in self.needs(name):
            self.take(needed)

    def info(self, name, key):
        """What the module itself says of @key, as modinfo would show it."""
        return [value.decode() for value in re.findall(rb"\0%s=([^\0]*)" % key.encode(), self[name])]

    def needs(self, name):
        return [canonical(word) for word in ",".join(self.info(name, "depends")).split(",") if word]

    def all_needs(self, name):
        """In the order in which they can be unloaded."""
        return [one for needed in self.needs(name) if needed in self for one in [needed, *self.all_needs(needed)]]

    def dep(self):
        """The text of modules.dep"""
        lines = (f"{name}.ko: {' '.join(f'{needed}.ko' for needed in self.all_needs(name))}\n" for name in self)
        return "".join(lines)

    def alias(self):
        """The text of modules.alias: for a mount the kernel asks for fs-xfs, not for xfs."""
        return "".join(f"alias {alias} {name}\n" for name in self for alias in self.info(name, "alias"))
