import multiprocessing
import signal
import time

import pytest
from torch.utils.data import DataLoader, Dataset

from rebatch.engine.workers import worker_fault
from rebatch.errors import RunError


@pytest.fixture(autouse=True)
def _listening():
    """A fault ends the listening to dead workers, for good in a run but not in these tests."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


class Bad(Dataset):
    def __init__(self, fault) -> None:
        self.fault = fault

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index):
        if index == 5:
            self.fault()
        return index


def complain():
    raise RunError("n01/7.JPEG is not an image: it is empty")


def hang():
    time.sleep(60)


def stumble():
    raise KeyError("x")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (complain, "n01/7.JPEG is not an image: it is empty"),
        (stumble, "KeyError: 'x'"),
    ],
)
def test_what_a_worker_raises_is_one_line_at_once(fault, reason):
    began = time.monotonic()
    with pytest.raises((RuntimeError, KeyError)) as caught:
        list(DataLoader(Bad(fault), batch_size=2, num_workers=1))
    said = worker_fault(caught.value)
    assert isinstance(said, RunError)
    assert str(said).startswith(f"a data worker failed: {reason}")
    assert "\n" not in str(said)
    assert time.monotonic() - began < 60


def test_a_worker_that_hangs_is_a_fault_after_a_while():
    with pytest.raises(RuntimeError) as caught:
        list(DataLoader(Bad(hang), batch_size=2, num_workers=1, timeout=0.3))
    said = worker_fault(caught.value)
    assert str(said) == "a data worker failed: DataLoader timed out after 0.3 seconds"


def test_a_connection_to_a_worker_that_breaks_is_the_workers_fault():
    ours, theirs = multiprocessing.Pipe()
    theirs.close()
    with pytest.raises(EOFError) as caught:
        ours.recv()
    assert str(worker_fault(caught.value)) == "a data worker failed: it is gone (EOFError)"
    ours.close()


def test_a_dead_worker_is_named():
    error = RuntimeError("DataLoader worker (pid(s) 7) exited unexpectedly")
    assert str(worker_fault(error)) == f"a data worker failed: {error}"


def test_other_errors_are_none_of_the_workers():
    assert worker_fault(RuntimeError("shapes differ")) is None
    assert worker_fault(KeyboardInterrupt("DataLoader worker")) is None
    assert worker_fault(ConnectionResetError("of somebody else")) is None
