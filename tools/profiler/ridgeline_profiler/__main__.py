"""`python3 -m ridgeline_profiler`."""

import sys

from ridgeline_profiler.cli import main

# Processes that measure collectives import this file again.
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
