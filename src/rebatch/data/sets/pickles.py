"""Read a pickled dictionary of plain values and byte arrays, and run nothing that it names.

The pickle machine calls whatever a file names. Here a file may name four things, and each is
answered with an inert stand-in: no code outside this module, not even numpy's, is called by a file.
"""

import io
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rebatch.errors import RunError

MAX_BYTES = 2**28  # the largest official file, CIFAR-100's train, has 155 MB


class PickledArray:
    """What a pickle says of a numpy array; ``numpy()`` believes it only if it adds up."""

    __slots__ = ("dtype", "fortran", "raw", "shape")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.dtype, self.fortran, self.raw = state

    def numpy(self) -> NDArray[np.uint8]:
        """Build the array, which must be of bytes and as long as its shape says."""
        if not isinstance(self.dtype, _Dtype) or _text(self.dtype.code) != "u1":
            raise ValueError("an array is not of unsigned bytes")
        if min(self.shape) < 0 or len(self.raw) != math.prod(self.shape):
            raise ValueError("an array is not as long as its shape says")
        order = "F" if self.fortran else "C"
        return np.frombuffer(self.raw, np.uint8).reshape(self.shape, order=order)  # type: ignore[call-overload, no-any-return]


class _Dtype:
    __slots__ = ("code",)

    def __init__(self, code: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        """Byte order and fields say nothing about single bytes."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Bound methods and a string, because the pickle machine can set attributes of a function
        # or class that it is given, and a change there would outlive this file.
        allowed = {
            "numpy.core.multiarray._reconstruct": self._array,
            "numpy._core.multiarray._reconstruct": self._array,
            "numpy.ndarray": "ndarray",
            "numpy.dtype": self._dtype,
            "_codecs.encode": self._encode,
        }
        if f"{module}.{name}" not in allowed:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no data file needs")
        return allowed[f"{module}.{name}"]

    def _array(self, kind: object, shape: object, code: object) -> PickledArray:
        return PickledArray()

    def _dtype(self, code: object, align: object, copy: object) -> _Dtype:
        return _Dtype(code)

    def _encode(self, text: str, encoding: str) -> bytes:
        return text.encode("latin1")


def read_pickle(path: Path) -> dict[str, Any]:
    """Read a dictionary, as Python 2 or 3 and any numpy wrote it; byte keys become text."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES} bytes")
        loaded = _Unpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
        return {_text(key): value for key, value in loaded.items()}
    except Exception as error:  # a broken pickle can raise anything
        raise RunError(f"{path} is not a readable data file: {error}") from error


def _text(value: object) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
