"""Run the command line with ``python -m rebatch``."""

import os
import sys

from rebatch.cli import main

code = main()
if os.environ.get("WORLD_SIZE", "1") != "1":
    # Threads of torch.distributed outlive the run, and may abort Python while it shuts down.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
raise SystemExit(code)
