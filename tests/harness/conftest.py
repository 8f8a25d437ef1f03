# SPDX-License-Identifier: MIT
"""The tests' own tools are looked for where they are used."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("system", "truth"))]
