import os
import subprocess
import sys
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import pytest

from services.cli import main

ALATE = Path(sys.executable).with_name("alate")


def alate(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("ALATE_")}
    return subprocess.run(
        (str(ALATE), *words), capture_output=True, text=True, cwd=cwd, env=env, timeout=50, check=False
    )


@pytest.fixture
def here(tmp_path, monkeypatch, capfd):
    """Runs `alate` within this process, in the test's folder: a process of its own takes a second to start."""
    monkeypatch.setattr("events.jetstream.connection.CONNECT", 0.3)  # seconds in which nobody answers anyhow
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("ALATE_"):
            monkeypatch.delenv(name)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["alate", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(words, ended.value.code, *capfd.readouterr())

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        *(
            (each, "--help")
            for each in (
                "demo",
                "up",
                "plan",
                "request",
                "explain",
                "get",
                "scale",
                "upgrade",
                "extend",
                "hibernate",
                "wake",
                "recreate",
                "delete",
                "events",
            )
        ),
        *(
            ("events", each, "--help")
            for each in ("tail", "get", "history", "lineage", "dlq", "how", "stats", "replay", "diff")
        ),
    ],
)
def test_help_is_there_for_every_command(here, words):
    done = here(*words)

    assert done.returncode == 0
    assert "Usage: alate" in done.stdout


def test_its_words_and_its_exit_code_are_those_of_the_process(tmp_path):
    helped, refused = alate("--help", cwd=tmp_path), alate("get", "pods", cwd=tmp_path)

    assert (helped.returncode, refused.returncode) == (0, 2)
    assert "Usage: alate" in helped.stdout
    assert refused.stderr.startswith("alate: there is no kind pods")


def test_help_loads_nothing_that_only_work_needs():
    code = "import sys, services.cli.app; print(*sys.modules)"
    loaded = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout.split()

    assert not {"aiohttp", "nats", "pydantic", "yaml", "rich.live", "msgspec", "kubernetes_asyncio"} & set(loaded)


NOWHERE = "nats://127.0.0.1:9"
ROOT = Path(__file__).parents[3]
COLONY = str(ROOT / "deploy" / "colony.yaml")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("get",), "alate: no alate is running in"),
        (("get", "pods"), "alate: there is no kind pods"),
        (("get", "clusters", "--nats", NOWHERE), f"alate: no NATS answers at {NOWHERE}"),
        (("get", "--kubeconfig", "absent"), "alate: kubeconfig absent: there is no such file"),
        (("get", "-o", "xml"), "Invalid value for '-o'"),
        (("delete", "train"), "alate: no alate is running in"),
        (("scale", "train/main", "gpu=3"), "alate: no alate is running in"),
        (("scale", "train", "gpu=3"), "alate: train names no cluster: write COLONY/CLUSTER, such as train/main"),
        (("scale", "train/main", "gpu"), "alate: gpu is no size: write POOL=NODES with at least one node"),
        (("scale", "train/main", "gpu=0"), "alate: gpu=0 is no size"),
        (("upgrade", "train/main", "v1.35.1"), "alate: no alate is running in"),
        (("upgrade", "train/main", "1.35"), "alate: 1.35 is no version of Kubernetes: write v1.MINOR.PATCH, such as"),
        (("extend", "train/main", "12h"), "alate: no alate is running in"),
        (("extend", "train", "12h"), "alate: train names no cluster: write COLONY/CLUSTER, such as train/main"),
        (("extend", "train/main", "soon"), "alate: soon is no time to live: must be a duration such as 90s or 1h30m"),
        (("hibernate", "train/main"), "alate: no alate is running in"),
        (("wake", "train"), "alate: train names no cluster: write COLONY/CLUSTER, such as train/main"),
        (("delete",), "Missing argument"),
        (("request",), "alate: give either a NAME (with flags) or a file with -f"),
        (("request", "train", "-f", "x"), "alate: give either a NAME"),
        (
            ("request", "-f", "x", "--gpus", "8", "--max-price", "9"),
            "alate: --gpus, --max-price beside -f changes nothing",
        ),
        (("request", "-f", "absent.yaml"), "alate: absent.yaml cannot be read"),
        (("request", "train", "--gpus", "many"), "Invalid value for '--gpus'"),
        (("request", "train", "--gpus", "12"), "alate: --gpus 12 cannot be had as whole nodes"),
        (("up", "--port", "1"), "Invalid value for '--port': Input should be greater than or equal to 1024"),
        (("up", "--nats", NOWHERE), f"alate: no NATS answers at {NOWHERE}"),
        (("up", "--kubeconfig", "absent"), "alate: kubeconfig"),
        (("plan",), "Missing option '-f'"),
        (("plan", "-f", "absent.yaml"), "alate: absent.yaml cannot be read"),
        (("plan", "-f", COLONY), "alate: no alate is running in"),
        (("plan", "-f", COLONY, "--catalog", "absent.csv"), "alate: --catalog absent.csv: absent.csv cannot be read"),
        (("plan", "-f", COLONY, "--catalog", "x", "--nats", NOWHERE), "alate: --catalog takes the place"),
        (("explain",), "Missing argument"),
        (("explain", "train/"), "alate: 'train/' names no cluster"),
        (("explain", "train-gpu"), "alate: no alate is running in"),
        (("fly",), "No such command 'fly'"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_exit_code_2(here, words, sentence):
    done = here(*words)

    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize(("extra", "code"), [("", 0), ("maxPricePerHour: 0.01", 1)])
def test_a_plan_ends_well_only_if_there_is_a_placement_for_every_cluster(tmp_path, extra, code):
    text = Path(COLONY).read_text().replace("maxPricePerHour: 60", extra or "maxPricePerHour: 60")
    (tmp_path / "colony.yaml").write_text(text)
    done = alate("plan", "-f", "colony.yaml", "--catalog", str(ROOT / "services/clients/sample_prices"), cwd=tmp_path)

    assert done.returncode == code, done.stderr
    assert ("no placement: PriceCap: the cheapest offer costs" in done.stdout) == (code == 1)


def test_a_second_stack_in_a_folder_is_refused(tmp_path):
    from services.local.folder import Folder  # noqa: PLC0415 - a lock of this process

    folder = Folder(tmp_path / ".alate")
    folder.take()
    done = alate("up", cwd=tmp_path)
    folder.leave()

    assert "alate: alate is already running in" in done.stderr
    assert done.returncode == 2


def test_a_busy_port_is_one_clear_sentence(tmp_path):
    with socket(AF_INET, SOCK_STREAM) as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        done = alate("up", "--port", str(port), cwd=tmp_path)

    assert f"alate: port {port} on 127.0.0.1 is taken by another program" in done.stderr
    assert done.returncode == 2


def test_a_wrong_kubeconfig_is_one_clear_sentence(tmp_path):
    (tmp_path / "wrong").write_text("a: [")
    done = alate("up", "--kubeconfig", "wrong", cwd=tmp_path)

    assert "alate: kubeconfig" in done.stderr
    assert "is not YAML" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
