import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def interpreted(request):
    """Evaluate an expression of the test's own file where Triton interprets its kernels.

    It must hold no NaN: comparisons pass over that.
    """
    pytest.importorskip("triton")

    def evaluate(expression: str):
        paths = [str(request.path.parent), *sys.path]
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                f"import json; from {request.path.stem} import *; "
                f"print(json.dumps({expression}, allow_nan=False))",
            ],
            env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return evaluate
