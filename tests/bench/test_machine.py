import torch

from rebatch.bench.machine import device_name, file_name, machine


def test_a_file_is_named_by_the_device_alone():
    assert file_name("cpu", {"device": "AMD EPYC (TM) 7B13"}) == "cpu-amd-epyc-tm-7b13"


def test_the_machine_says_nothing_of_time_or_place():
    found = machine(torch.device("cpu"))
    names = {"device", "cores", "threads", "rebatch", "torch", "python"}
    assert set(found) == names
    assert found["device"] == device_name(torch.device("cpu")) != ""
