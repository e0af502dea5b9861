"""What Grafana is given is what is declared, or `make check` names the difference."""

from services.generate.dashboards.__main__ import main


def test_the_shipped_files_say_what_is_declared():
    assert main(["--check"]) == 0


def test_a_file_that_differs_is_named_with_the_command_that_mends_it(tmp_path, capsys):
    assert main(["--out", str(tmp_path)]) == 0
    assert main(["--out", str(tmp_path), "--check"]) == 0
    (tmp_path / "alate-flow.json").write_text("{}")
    capsys.readouterr()
    assert main(["--out", str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().err.endswith(
        "alate-flow.json differs from services/generate/dashboards: run `make generate`\n"
    )
