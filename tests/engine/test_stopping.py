import os
import signal
import threading

from rebatch.engine.stopping import Stopped, stop_requests


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
