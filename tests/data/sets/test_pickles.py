import os
import pickle
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebatch.data.sets.pickles import read_pickle
from rebatch.errors import RunError


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def python2_pickle(images: np.ndarray, *, fortran: bool = False) -> bytes:
    """Write ``{"data": images}`` as Python 2 and an old numpy did, opcode by opcode."""
    raw = images.tobytes("F" if fortran else "C")
    shape = b"".join(b"M" + struct.pack("<H", size) for size in images.shape) + b"\x86"
    dtype = b"cnumpy\ndtype\n" + short(b"u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + short(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + short(b"b") + b"\x87R"
    )
    state = b"(K\x01" + shape + dtype + (b"\x88" if fortran else b"\x89")
    state += b"T" + struct.pack("<I", len(raw)) + raw + b"tb"
    return b"\x80\x02}" + short(b"data") + array + state + b"s."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "batch"


@pytest.mark.parametrize("fortran", [False, True])
def test_a_pickle_of_python_2_is_read(file: Path, fortran: bool):
    images = np.arange(600, dtype=np.uint8).reshape(300, 2)
    file.write_bytes(python2_pickle(images, fortran=fortran))
    np.testing.assert_array_equal(
        pickle.loads(file.read_bytes(), encoding="bytes")[b"data"], images
    )
    np.testing.assert_array_equal(read_pickle(file)["data"].numpy(), images)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_a_pickle_of_this_python_and_numpy_is_read(file: Path, protocol: int):
    images = np.arange(12, dtype=np.uint8).reshape(3, 4)
    file.write_bytes(pickle.dumps({b"data": images, b"labels": [7, 8, 9]}, protocol))
    stored = read_pickle(file)
    np.testing.assert_array_equal(stored["data"].numpy(), images)
    assert stored["labels"] == [7, 8, 9]


class Payload:
    def __init__(self, function: object, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_malicious_pickle_is_refused_and_not_executed(file: Path, tmp_path: Path, protocol: int):
    trap = tmp_path / "executed"
    file.write_bytes(pickle.dumps({"data": Payload(os.mkdir, str(trap))}, protocol))
    with pytest.raises(RunError, match=r"batch is not a readable data file: it names posix.mkdir"):
        read_pickle(file)
    assert not trap.exists()
    pickle.loads(file.read_bytes())
    assert trap.exists()  # so the payload works where nothing holds it back


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "numpy.load", "numpy.core.records.fromfile"]
)
def test_names_outside_the_four_needed_are_refused(file: Path, name: str):
    module, _, attribute = name.rpartition(".")
    file.write_bytes(f"c{module}\n{attribute}\n.".encode())
    with pytest.raises(RunError, match=f"it names {name}, which no data file needs"):
        read_pickle(file)


def test_a_pickle_cannot_change_what_it_was_given(file: Path):
    set_defaults = b"(N}U\x0c__defaults__K\x01\x85sb"
    file.write_bytes(b"\x80\x02c_codecs\nencode\n" + set_defaults + b".")
    with pytest.raises(RunError):
        read_pickle(file)


def test_an_array_of_objects_or_of_another_length_is_refused(file: Path):
    file.write_bytes(pickle.dumps({"data": np.array([[1, 2]])}, 4))
    with pytest.raises(ValueError, match="not of unsigned bytes"):
        read_pickle(file)["data"].numpy()
    file.write_bytes(
        python2_pickle(np.zeros((4, 4), np.uint8)).replace(b"M\x04\0M\x04\0", b"M\x04\0M\x05\0")
    )
    with pytest.raises(ValueError, match="not as long as its shape says"):
        read_pickle(file)["data"].numpy()


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_pickles_raise_run_errors_only(file: Path, data: st.DataObject):
    whole = python2_pickle(np.zeros((2, 3), np.uint8))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    place = data.draw(st.integers(0, len(cut)))
    file.write_bytes(cut[:place] + data.draw(st.binary(max_size=4)) + cut[place:])
    with suppress(RunError):
        assert isinstance(read_pickle(file), dict)
