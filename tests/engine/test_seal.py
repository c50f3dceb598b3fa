import io
import zipfile

import pytest
import safetensors.torch
import torch

from rebatch.engine.seal import check_seal, read_tensors, seal, sealed_tensors


def test_a_sealed_archive_is_still_one():
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(3)}, buffer)
    sealed = seal(buffer.getvalue())
    check_seal(sealed)
    assert torch.load(io.BytesIO(sealed), weights_only=True)["a"].tolist() == [0, 1, 2]
    with zipfile.ZipFile(io.BytesIO(sealed)) as archive:
        assert archive.comment.startswith(b"sha256:")
        assert archive.testzip() is None


@pytest.mark.parametrize("data", [b"", b"PK", b"x" * 200, b"x" * 200 + b"sha256:" + b"0" * 64])
def test_foreign_bytes_have_no_seal(data):
    with pytest.raises(ValueError, match=r"^it does not end in a checksum$|^its checksum differs$"):
        check_seal(data)


def test_tensors_come_back_and_every_flipped_byte_is_noticed():
    data = sealed_tensors({"b": torch.arange(3.0), "a": torch.ones(2, dtype=torch.int64)})
    assert read_tensors(data)["b"].tolist() == [0.0, 1.0, 2.0]
    for place in range(len(data)):
        flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        try:
            found = read_tensors(flipped)
        except Exception:
            continue
        # Only the words around the sum itself can change without changing a tensor.
        assert {name: value.tolist() for name, value in found.items()} == {
            "b": [0.0, 1.0, 2.0],
            "a": [1, 1],
        }


def test_tensors_written_elsewhere_have_no_sum_and_are_read():
    assert read_tensors(safetensors.torch.save({"a": torch.ones(2)}))["a"].tolist() == [1.0, 1.0]
