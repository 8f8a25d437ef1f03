# SPDX-License-Identifier: MIT
"""A command that has to end well."""

import subprocess


def command(*argv):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True)
