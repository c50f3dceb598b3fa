"""The command line: one subcommand a file, heavy imports inside the functions that need them."""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import rebatch
from rebatch.cli._terminal import print_anything
from rebatch.errors import InputError, RunError

COMMANDS = (
    *("plan", "demo", "recipes", "data", "train", "sweep", "probe", "reproduce"),
    *("ensemble", "report", "bench"),
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, like every other error of rebatch."""

    def error(self, message: str) -> NoReturn:
        """Leave with the parser's complaint as wrong input."""
        raise InputError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0 is success, 1 a failed run, 2 wrong input, and 128 + the signal's number a run that was
    stopped: 130 by Ctrl-C, 143 by SIGTERM.
    """
    try:
        arguments = build().parse_args(argv)
        with _notes():
            return int(arguments.run(arguments) or 0)
    except InputError as error:
        return _complain(str(error), 2)
    except RunError as error:
        return _complain(str(error), error.code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away: nothing to say
        return 1
    except OSError as error:  # a path that may not be read, a name that is too long
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)


def script() -> NoReturn:
    """Run the command line as a program of its own."""
    print_anything()
    code = main()
    if os.environ.get("WORLD_SIZE", "1") != "1":
        # Threads of torch.distributed outlive the run, and may abort Python while it shuts down.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)


def build() -> Parser:
    """Return the parser with every subcommand registered."""
    parser = Parser(
        prog="rebatch",
        description="Batch-size scheduling for PyTorch: plan, train, ensemble, report.",
        epilog="Start with: rebatch plan CBS-5 --base 10 --epochs 40 --examples 50000",
    )
    parser.add_argument("--version", action="version", version=f"rebatch {rebatch.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name in COMMANDS:
        importlib.import_module(f"rebatch.cli.{name}").register(commands)
    return parser


class _Note(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(f"rebatch: note: {record.getMessage()}", file=sys.stderr)


@contextmanager
def _notes() -> Iterator[None]:
    """Print what the library has to say in passing, a line each, on standard error."""
    logger, handler = logging.getLogger("rebatch"), _Note()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _complain(message: str, code: int) -> int:
    print(f"rebatch: {' '.join(message.split())}", file=sys.stderr)
    return code
