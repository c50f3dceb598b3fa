"""Checksums inside the files of a run: what is read is what was written, or it is refused."""

import hashlib
import json
import struct

import safetensors.torch
from torch import Tensor

MARK = b"sha256:"
_LENGTH = len(MARK) + 64
_KEY = "sha256"


def seal(archive: bytes | memoryview) -> bytes:
    """Return a zip archive without a comment, as ``torch.save`` makes it, with its sum as comment.

    It is a valid archive still, so that ``torch.load`` reads it as it is.
    """
    comment = MARK + hashlib.sha256(archive).hexdigest().encode()
    return b"".join((archive[:-2], struct.pack("<H", _LENGTH), comment))


def check_seal(data: bytes) -> None:
    """Raise a ValueError unless ``data`` is what `seal` returned."""
    content, comment = memoryview(data)[: -_LENGTH - 2], data[-_LENGTH:]
    if not comment.startswith(MARK):
        raise ValueError("it does not end in a checksum")
    digest = hashlib.sha256(content)
    digest.update(b"\0\0")
    if data[-_LENGTH - 2 : -_LENGTH] + comment != (
        struct.pack("<H", _LENGTH) + MARK + digest.hexdigest().encode()
    ):
        raise ValueError("its checksum differs")


def sealed_tensors(tensors: dict[str, Tensor]) -> bytes:
    """Return tensors in the safetensors format, with their sum in its metadata."""
    plain = safetensors.torch.save(tensors)
    return safetensors.torch.save(tensors, metadata={_KEY: _sum_of_tensors(plain)[1]})


def read_tensors(data: bytes) -> dict[str, Tensor]:
    """Return the tensors; a sum that differs is a ValueError, files made elsewhere have none."""
    tensors = safetensors.torch.load(data)  # first: it checks the layout
    known, found = _sum_of_tensors(data)
    if known not in (None, found):
        raise ValueError("its checksum differs")
    return tensors


def _sum_of_tensors(data: bytes) -> tuple[object, str]:
    """Return the sum that the file tells, and that of everything else in it."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    known = header.pop("__metadata__", {}).get(_KEY)
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    digest.update(memoryview(data)[8 + length :])
    return known, digest.hexdigest()
