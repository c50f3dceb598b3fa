"""Run the command line with ``python -m rebatch``."""

from rebatch.cli import main

raise SystemExit(main())
