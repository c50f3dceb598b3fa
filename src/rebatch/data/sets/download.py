"""Download one file with pooch: verified, and continued where a broken connection left it."""

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rebatch.errors import InputError, RunError

if TYPE_CHECKING:
    from requests import Response

CHUNK = 2**16


def download(url: str, target: Path, *, checksum: str | None, progress: bool = False) -> None:
    """Fetch ``url`` to ``target``; refuse it if a ``checksum`` ("md5:…") is given and differs."""
    part = target.with_name(f"{target.name}.part")
    resume = partial(_resume, part=part, progress=progress)
    retrieve: Callable[..., str] = _pooch().retrieve
    try:
        retrieve(url, checksum, fname=target.name, path=target.parent, downloader=resume)
    except OSError as error:  # requests' errors are of this kind too, and some are ValueErrors
        arrived = part.exists() and part.stat().st_size
        kept = "; what arrived is kept, run it again to go on" if arrived else ""
        raise RunError(f"{url} could not be fetched: {error}{kept}") from error
    except ValueError as error:
        raise RunError(f"{url} is refused: its checksum is not {checksum}") from error


def _resume(url: str, output_file: str, pooch: object, *, part: Path, progress: bool) -> None:
    """Download to ``part``, going on where it ends; pooch calls this in place of its own.

    Whether both halves are of one file is not asked here: the checksum, or else the sums inside
    the archive, will tell.
    """
    done = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
    with part.open("ab") as file:
        fetch = _pooch().HTTPDownloader(
            progressbar=progress and find_spec("tqdm") is not None,
            chunk_size=CHUNK,
            headers=headers,
            hooks={"response": partial(_start_over, file, done)},
        )
        fetch(url, file, None)
    os.replace(part, output_file)


def _start_over(file: IO[bytes], done: int, response: "Response", **_: object) -> None:
    """Drop what is there when the server sends something else than its continuation."""
    continues = response.headers.get("Content-Range", "").startswith(f"bytes {done}-")
    if response.status_code in (200, 416) or (response.status_code == 206 and not continues):
        file.truncate(0)


def _pooch() -> Any:
    try:
        pooch = import_module("pooch")
    except ImportError as error:
        advice = "run: pip install 'rebatch[data]'"
        raise InputError(f"pooch must be installed to fetch data, got none; {advice}") from error
    pooch.get_logger().setLevel("WARNING")
    return pooch
