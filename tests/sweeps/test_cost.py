import pytest

from rebatch.records import RunFolder, write_json
from rebatch.sweeps import Identity
from rebatch.sweeps._cost import read_rates

BL = Identity("digits", "BL", 0)


@pytest.fixture
def results(tmp_path):
    """Results by hand: schedule, changed fields, updates, seconds, device, and the engine."""

    def written(*rows):
        for number, (schedule, overrides, updates, seconds, device, *engine) in enumerate(rows):
            folder = RunFolder(tmp_path / str(number))
            record = {"recipe": "digits", "schedule": schedule, "variant": None}
            record |= {"overrides": overrides, "seed": number, "device": device}
            write_json(folder.run, record | ({"engine": engine[0]} if engine else {}))
            write_json(folder.result, record | {"updates": updates, "seconds": seconds})
        return tmp_path

    return written


def test_a_run_takes_as_long_as_the_same_run_took(results):
    folder = results(("BL", [], 3600, 10.0, "here"), ("BL", [], 3600, 14.0, "here"))
    assert read_rates([folder], "here").estimate(BL) == 12.0


def test_another_schedule_of_the_recipe_gives_seconds_an_update(results):
    folder = results(("CBS-5", [], 1700, 17.0, "here"))
    assert read_rates([folder], "here").estimate(BL) == pytest.approx(36.0)  # 3,600 updates


def test_another_device_says_nothing(results):
    folder = results(("BL", [], 3600, 10.0, "elsewhere"))
    assert read_rates([folder], "here").estimate(BL) is None


def test_a_shorter_run_says_only_how_long_an_update_takes(results):
    folder = results(("BL", ["epochs=1"], 90, 9.0, "here"))
    assert read_rates([folder], "here").estimate(BL) == pytest.approx(360.0)


def test_runs_of_the_engine_that_will_be_used_count(results):
    folder = results(
        ("BL", [], 3600, 70.0, "here"),
        ("BL", [], 3600, 10.0, "here", "graphs"),
        ("BL", [], 3600, 72.0, "here", "eager"),
    )
    assert read_rates([folder], "here").estimate(BL) == 10.0
    assert read_rates([folder], "here", "eager").estimate(BL) == 71.0
    assert read_rates([folder], "here", "compiled").estimate(BL) == 71.0


def test_where_nothing_was_measured_nothing_is_known(tmp_path):
    assert read_rates([tmp_path, tmp_path / "none"], "here").estimate(BL) is None


def test_what_is_not_a_result_is_passed_over(results):
    folder = results(("BL", [], 3600, 10.0, "here"))
    write_json(folder / "0" / "result.json", {"device": "here", "seconds": None})
    assert read_rates([folder], "here").estimate(BL) is None
