"""Import a script once, run its ``main`` as rank 0 and as rank 1, and print what they print last.

To import a framework takes longer than what the tests do with it, so it is done before the fork.
"""

import contextlib
import io
import json
import multiprocessing
import os
import runpy
import sys


def run_as(rank, main, results):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main()
    results.send(json.loads(printed.getvalue().splitlines()[-1]))


if __name__ == "__main__":
    del sys.argv[0]
    main = runpy.run_path(sys.argv[0])["main"]
    context = multiprocessing.get_context("fork")
    received = []
    for rank in range(2):
        ours, theirs = context.Pipe(duplex=False)
        context.Process(target=run_as, args=(rank, main, theirs)).start()
        theirs.close()
        received.append(ours)
    print(json.dumps([connection.recv() for connection in received]))
