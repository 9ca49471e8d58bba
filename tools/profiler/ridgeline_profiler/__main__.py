"""`python3 -m ridgeline_profiler`."""

import sys

from ridgeline_profiler.cli import main

sys.exit(main(sys.argv[1:]))
