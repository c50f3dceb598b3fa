"""Import a script once, fork ranks for each of its functions in turn, and print what they return.

``launch.py SCRIPT train:2 train:1 -- ARGS``: to import torch takes longer than what the tests do.
"""

import json
import multiprocessing
import os
import runpy
import socket
import sys
import traceback


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_as(rank, world, port, main, results):
    environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in environment.items()})
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    try:
        results.send(main(rank, world))
    except BaseException:
        results.send(traceback.format_exc())


def received(connection):
    try:
        return connection.recv()
    except EOFError:
        return "gone without a word"


def launched(world, main):
    """Return what each of ``world`` forked ranks returns."""
    context, port, connections = multiprocessing.get_context("fork"), free_port(), []
    for rank in range(world):
        ours, theirs = context.Pipe(duplex=False)
        context.Process(target=run_as, args=(rank, world, port, main, theirs)).start()
        theirs.close()
        connections.append(ours)
    return [received(connection) for connection in connections]


if __name__ == "__main__":
    split = sys.argv.index("--")
    _, script, *wanted = sys.argv[:split]
    sys.argv[1:] = sys.argv[split + 1 :]
    functions, found = runpy.run_path(script), {}
    for each in wanted:
        name, world = each.split(":")
        found[each] = launched(int(world), functions[name])
    print(json.dumps(found))
