"""The options of ``rebatch plan`` that simulate a plan on many ranks."""

import argparse
from dataclasses import replace
from pathlib import Path

from rebatch._update_times import is_points
from rebatch.cli._numbers import number, whole
from rebatch.errors import InputError
from rebatch.scaling import PRESETS, Cluster, Network, UpdateTimes, preset, read

OPTIONS = ("micro_batch", "norm_batch", "update_times", "network", "latency", "parameters")


def add_scaling(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("many ranks (a simulation, see docs/scaling.md)")
    group.add_argument("--ranks", metavar="R", help="devices; several numbers as 8,64,512")
    group.add_argument("--micro-batch", metavar="M", help="most samples a device computes at once")
    group.add_argument(
        "--norm-batch", metavar="G", help="samples in a group of batch norm, kept on one rank"
    )
    group.add_argument(
        "--update-times",
        metavar="TIMES",
        help="milliseconds of an update on one device by its batch size, as 32:9.5,64:15.2, "
        f"a file of such points, or one of {', '.join(PRESETS)}",
    )
    group.add_argument("--network", metavar="GB/S", help="bandwidth between ranks, 10^9 bytes/s")
    group.add_argument("--latency", metavar="US", help="microseconds of a message (default: 0)")
    group.add_argument("--parameters", metavar="N", help="numbers in the gradient, of 4 bytes")


def clusters(arguments: argparse.Namespace) -> list[Cluster]:
    """Return the clusters that the options describe: none without ``--ranks``."""
    if arguments.ranks is None:
        for name in OPTIONS:
            if getattr(arguments, name) is not None:
                raise InputError(f"ranks must be given with {name}, got none")
        return []
    ranks = [whole("ranks", part) for part in arguments.ranks.split(",")]
    size = whole("micro_batch_size", arguments.micro_batch)
    norm = whole("norm_batch_size", arguments.norm_batch) or 1
    times, network = _times(arguments.update_times), _network(arguments)
    alone = Cluster(
        ranks=1, micro_batch_size=size, norm_batch_size=norm, times=times, network=network
    )
    return [replace(alone, ranks=each) for each in ranks if each is not None]


def _network(arguments: argparse.Namespace) -> Network | None:
    gigabytes = number("network", arguments.network)
    parameters = whole("parameters", arguments.parameters)
    latency = number("latency", arguments.latency, zero=True)
    if gigabytes is None and parameters is None and latency is None:
        return None
    if gigabytes is None:
        raise InputError("network must be given with parameters and latency, got none")
    if parameters is None:
        raise InputError("parameters must be given with network, got none")
    return Network(parameters=parameters, gigabytes=gigabytes, microseconds=latency or 0.0)


def _times(text: str | None) -> UpdateTimes | None:
    if text is None:
        return None
    if text in PRESETS:
        return preset(text)
    if is_points(text):
        return read(text)
    try:
        return read(Path(text).read_text(encoding="utf-8"), f"from {Path(text).name}")
    except (OSError, UnicodeDecodeError):
        rule = f"points such as 32:9.5,64:15.2, a text file of them or one of {', '.join(PRESETS)}"
        raise InputError(f"update_times must be {rule}, got {text!r}") from None
