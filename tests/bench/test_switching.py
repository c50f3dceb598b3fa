import rebatch
from rebatch.bench.switching import Step, steps


def test_the_first_epoch_of_a_step_is_set_against_its_second():
    plan = rebatch.plan(rebatch.parse("CBS-2-2", 10), epochs=8, examples=100)
    seconds = [9.0, 4.0, 6.0, 2.0, 4.1, 4.0, 2.0, 2.0]
    found = steps(plan, seconds)
    assert found == [
        Step(0, 10, 9.0, 4.0),
        Step(0, 20, 6.0, 2.0),
        Step(1, 10, 4.1, 4.0),
        Step(1, 20, 2.0, 2.0),
    ]
    assert round(found[2].excess, 6) == 0.025
