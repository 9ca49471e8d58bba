"""`python -m ridgeline`: the program of the command line that the package carries."""

from __future__ import annotations

import sys

from ._program import main

if __name__ == "__main__":
    sys.exit(main())
