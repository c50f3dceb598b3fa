import os

from rebatch._cores import cores


def test_only_the_processors_of_this_process_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 8}, raising=False)
    assert cores() == 3


def test_a_system_that_does_not_tell_which_are_ours_has_all_of_them(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert cores() == 5
