import os
import signal
import threading
import time

import pytest
import torch

from rebatch.engine.loop import train
from rebatch.engine.stopping import BrokenOff, Stopped, stop_requests
from rebatch.records import read_lines


def test_signals_become_requests_and_the_old_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_requests() as stop:
        assert stop.signal is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal is signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal is signal.SIGINT
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_thread_that_gets_no_signals_leaves_them_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work() -> None:
        with stop_requests() as stop:
            seen.append((stop.signal, signal.getsignal(signal.SIGTERM) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(None, True)]


def test_the_exit_code_says_which_signal_it_was():
    error = Stopped(signal.SIGTERM, 7)
    assert str(error) == "stopped by SIGTERM after update 7: use --resume to go on"
    assert error.code == 143
    assert Stopped(signal.SIGINT, 7).code == 130


def test_only_what_may_break_is_broken_off():
    with stop_requests() as stop:
        with pytest.raises(BrokenOff), stop.may_break():
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(BrokenOff), stop.may_break():
            raise AssertionError("a stop was asked for before")
        os.kill(os.getpid(), signal.SIGTERM)


def test_an_evaluation_is_broken_off_and_made_again(text_job):
    whole = text_job(out="whole")
    train(whole)
    job = text_job(out="parts")
    inner, calls = job.learner.task.evaluate, []

    def evaluate(*given):
        calls.append(time.monotonic())
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)
        return inner(*given)

    job.learner.task.evaluate = evaluate
    with pytest.raises(Stopped, match="stopped by SIGTERM after update"):
        train(job)
    assert time.monotonic() - calls[-1] < 10
    rest = text_job(out="parts")
    train(rest, resume=True)
    states = [made.learner.model.state_dict() for made in (whole, rest)]
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
    logs = [
        [{**line, "seconds": 0} for line in read_lines(made.folder.metrics)]
        for made in (whole, rest)
    ]
    assert logs[0] == logs[1]
