"""Run the command line with ``python -m rebatch``."""

from rebatch.cli import script

if __name__ == "__main__":
    script()
