# SPDX-License-Identifier: MIT
"""Where the repository is."""

import pathlib

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
