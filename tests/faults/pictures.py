"""Train on a folder of pictures, and strike a data worker: python pictures.py FOLDER FAULT."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from rebatch.errors import RunError
from rebatch.recipes import case, find, override
from rebatch.recipes._run import run

SETTINGS = ["baseline_batch_size=1", "cyclical_batch_size=1", "epochs=1", "log_every=1"]


def write(folder: Path, *, broken: bool) -> None:
    for split in ("train", "val"):
        for label, name in enumerate(("n01", "n02")):
            (folder / split / name).mkdir(parents=True)
            picture = Image.fromarray(np.full((40, 40, 3), 60 + 120 * label, np.uint8))
            for number in range(6):
                picture.save(folder / split / name / f"{number}.JPEG")
            if broken and split == "train":
                (folder / split / name / "3.JPEG").write_bytes(b"no picture")


def main(root: Path, fault: str) -> int:
    torch.set_num_threads(1)
    write(root / "imagenet", broken=fault == "raises")

    def follow(plan):
        def watch(progress, rate):
            if fault == "stopped" and progress.update == 1:
                workers = [worker.pid for worker in multiprocessing.active_children()]
                for process in (*workers, os.getpid()):
                    os.kill(process, signal.SIGTERM)
            if fault == "dies" and progress.update == 1:
                for worker in multiprocessing.active_children():
                    os.kill(worker.pid, signal.SIGKILL)

        return watch

    made = case(override(find("i1-imagenet"), SETTINGS), "BL")
    try:
        run(
            made,
            seed=0,
            out=root / "run",
            data_root=root,
            device="cpu",
            overrides=SETTINGS,
            watch=follow,
        )
    except RunError as error:
        print(f"rebatch: {error}", file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
