from rebatch.cli import main
from rebatch.records import write_json


def write_run(folder, **values):
    result = {
        "recipe": "digits",
        "schedule": "BL",
        "seed": 0,
        "variant": None,
        "overrides": [],
        "updates": 100,
        "seconds": 1.0,
        "final": {"test_accuracy": 90.0, "train_accuracy": 99.0},
        "best": {"test_accuracy": 91.0, "optimistic": True},
        "ensemble": None,
        **values,
    }
    write_json(folder / "run.json", {"status": "finished"})
    write_json(folder / "result.json", result)


def test_a_page_is_written_beside_the_runs_or_where_one_says(tmp_path, capsys):
    write_run(tmp_path / "a")
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'report.html'}\n"
    assert "90.00" in (tmp_path / "report.html").read_text()
    other = tmp_path / "other.html"
    assert main(["report", str(tmp_path), "-o", str(other), "--title", "Mine & yours"]) == 0
    assert "<h1>Mine &amp; yours</h1>" in other.read_text()


def test_a_title_in_markdown_is_no_markup(tmp_path):
    write_run(tmp_path / "a")
    page = tmp_path / "page.md"
    assert main(["report", str(tmp_path), "-o", str(page), "--title", "<b>x</b> [y](z)"]) == 0
    assert page.read_text().startswith("# &lt;b>x&lt;/b> \\[y\\](z)\n\n")


def test_a_folder_without_runs_is_wrong_input(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"rebatch: folder must hold at least one finished run, got {tmp_path}\n"
    )
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert main(["report", str(tmp_path / "nowhere")]) == 2


def test_a_form_that_nobody_writes_is_wrong_input(tmp_path, capsys):
    write_run(tmp_path / "a")
    target = tmp_path / "page.pdf"
    assert main(["report", str(tmp_path), "-o", str(target)]) == 2
    assert capsys.readouterr().err == f"rebatch: output must end in .html or .md, got {target}\n"
    assert not target.exists()


def test_records_that_cannot_be_read_are_a_failure(tmp_path, capsys):
    write_run(tmp_path / "a")
    (tmp_path / "a" / "result.json").write_text("{")
    assert main(["report", str(tmp_path)]) == 1
    assert "result.json is not readable as JSON" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_a_failure(tmp_path, capsys):
    write_run(tmp_path / "a")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "no" / "page.html")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
