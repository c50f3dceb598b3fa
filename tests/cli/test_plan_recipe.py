import json

import pytest

from rebatch.cli import main


def test_the_plan_of_a_recipe_is_that_of_its_run(capsys):
    assert main(["plan", "--recipe", "l1-ptb", "--schedule", "CBS-10", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["schedule"], made["base"], made["epochs"]) == ("CBS-10", 10, 39)
    assert made["updates"] == 49_468
    assert [row["batch_size"] for row in made["rows"]] == [10, 20, 40, 80]


def test_the_baseline_keeps_its_own_batch_size(capsys):
    assert main(["plan", "BL", "--recipe", "l1-ptb", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["base"], made["updates"]) == (20, 51_792)


def test_without_a_code_all_schedules_of_the_paper_are_planned(capsys):
    assert main(["plan", "--recipe", "c2-cifar10", "--json"]) == 0
    plans = json.loads(capsys.readouterr().out)
    assert [made["updates"] for made in plans] == [78_200, 39_875, 46_970, 46_480, 35_365]


def test_the_cost_is_compared_with_the_baseline_of_the_recipe(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["plan", "--recipe", "l1-ptb", "--schedule", "CBS-10"]) == 0
    assert "51,792" in capsys.readouterr().out


def test_controls_are_planned_too(capsys):
    command = ["plan", "--recipe", "l1-ptb", "--schedule", "CBS-10", "--json"]
    assert main([*command, "--variant", "equal-noise"]) == 0
    assert json.loads(capsys.readouterr().out)["updates"] == 103_584


def test_a_changed_recipe_is_planned_as_it_would_be_trained(capsys):
    command = ["plan", "--recipe", "c2-cifar10", "--schedule", "BL", "--set", "epochs=10"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["updates"] == 3_910


def test_of_a_policy_an_estimate_is_shown_that_says_so(capsys):
    assert main(["plan", "--recipe", "l1-ptb", "--schedule", "PLATEAU", "--json"]) == 0
    said = capsys.readouterr()
    made = json.loads(said.out)
    assert (made["schedule"], made["base"], made["updates"]) == ("PLATEAU", 10, 103_584)
    (note,) = made["notes"]
    assert note.startswith("PLATEAU decides while it trains: rows and totals are an estimate")
    assert said.err == f"rebatch: note: {note}\n"


def test_a_recipe_whose_data_has_two_official_sizes_says_which_is_planned(capsys):
    assert main(["plan", "--recipe", "e1-sick", "--schedule", "BL", "--json"]) == 0
    said = capsys.readouterr()
    made = json.loads(said.out)
    assert made["updates"] == 1_410
    assert made["notes"] == [
        "sick is planned as SemEval 2014's three files have it; training goes by what is there: "
        "the one of rebatch data get has 4,439 examples"
    ]
    assert said.err == f"rebatch: note: {made['notes'][0]}\n"


def test_a_policy_needs_no_recipe_but_epochs(capsys):
    command = ["plan", "PLATEAU", "--base", "10", "--examples", "100", "--json"]
    assert main([*command, "--epochs", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["updates"] == 30
    assert main([*command, "--updates", "30"]) == 2
    assert capsys.readouterr().err == "rebatch: epochs must be given with PLATEAU, got none\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--recipe", "l1"], "recipe must be one of"),
        (["--recipe", "l1-ptb", "--base", "10"], "base must not be given with --recipe"),
        (["--recipe", "l1-ptb", "--epochs", "3"], "epochs must not be given with --recipe"),
        (["CBS-5", "--variant", "plateau"], "variant must be given with --recipe"),
        (["CBS-5", "--set", "epochs=3"], "set must be given with --recipe"),
        (
            ["--recipe", "l1-ptb", "--set", "epoch=3"],
            "field must be one of the recipe's, got 'epoch'; did you mean epochs?",
        ),
        (["--recipe", "l1-ptb", "--variant", "no"], "variant must be one of"),
    ],
)
def test_what_contradicts_a_recipe_is_refused(capsys, arguments, complaint):
    assert main(["plan", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"rebatch: {complaint}")
