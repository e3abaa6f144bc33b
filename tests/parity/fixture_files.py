"""What the make_*_fixture*.py share is part of the Python package."""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python"))
from ferry.fixture_files import *  # noqa: E402,F401,F403
