# SPDX-License-Identifier: MIT
"""The hostile tests use what the system tests do: their modules and their fixtures."""

import importlib.util
import pathlib
import sys

SYSTEM = pathlib.Path(__file__).resolve().parents[1] / "system"
sys.path.insert(0, str(SYSTEM))

spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM / "conftest.py")
system = importlib.util.module_from_spec(spec)
spec.loader.exec_module(system)
globals().update({name: value for name, value in vars(system).items() if hasattr(value, "_pytestfixturefunction")})
