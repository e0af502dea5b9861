"""What `alate events how` prints is pasted, and what came of it is looked up."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.story.conftest import ENV, Stack, run
from tests.story.test_edge import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]
BIN = Path(sys.executable).parent


async def pasted(stack: Stack, name: str, tool: str, shell: str) -> str:
    """What comes of a snippet, exactly as printed."""
    snippet = await stack.alate("events", "how", name, "--only", tool)
    assert snippet.code == 0, snippet
    file = stack.cwd / f"{name}.{tool}"
    file.write_text(snippet.out)
    env = ENV | {"PATH": f"{BIN}{os.pathsep}{ENV['PATH']}"}
    done = await run(shell, file, cwd=stack.cwd, env=env)
    assert done.code == 0, done
    return done.out


async def test_the_python_snippet_asks_for_a_cluster_and_is_told_that_it_comes(stack):
    told = json.loads(await pasted(stack, "by-python", "python", sys.executable))
    assert told == {"id": "by-python-by-python", "accepted": True, "colony": "by-python", "reason": ""}
    assert (await stack.alate("get", "colony", "by-python")).code == 0


async def test_the_python_snippet_is_told_what_is_wrong_and_the_letter_is_kept(stack):
    told = json.loads(await pasted(stack, "Wrong", "python", sys.executable))
    assert not told["accepted"]
    groups = (await stack.alate("events", "dlq", "ls", "-o", "json")).json["items"]
    (group,) = (each for each in groups if each["reason"] == told["reason"])
    again = await stack.alate("events", "dlq", "redrive", group["fingerprint"])
    assert again.out.startswith("redriven: ")
    dropped = await stack.alate("events", "dlq", "drop", "all")
    assert dropped.code == 0


@pytest.mark.skipif(not shutil.which("nats"), reason="no nats command on the path")
async def test_the_nats_snippet_asks_for_a_cluster(stack):
    await pasted(stack, "by-nats", "nats", "sh")
    found = await stack.alate("events", "get", "by-nats-by-nats", "-o", "json")
    assert found.json["event"]["data"]["name"] == "by-nats"


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on the path")
async def test_the_curl_snippet_founds_a_cluster_without_a_trigger_and_its_lineage_is_told(stack):
    told = await pasted(stack, "by-curl", "curl", "sh")
    assert json.loads(told) == {"id": "by-curl-by-curl"}
    await until(lambda: has(stack, "by-curl"))
    lineage = await stack.alate("events", "lineage", "by-curl-by-curl")
    assert lineage.code == 0, lineage
    assert "not kept" not in lineage.out
    assert "cluster.requested" in lineage.out


async def has(stack: Stack, name: str) -> bool:
    return (await stack.alate("get", "colony", name)).code == 0


async def guide(stack: Stack, cwd: Path):
    """What comes of the guide's publisher, exactly as printed, run in a folder."""
    text = (Path(__file__).parents[2] / "docs" / "guides" / "publish.md").read_text()
    (code,) = (block for block in text.split("```python\n")[1:] if "nats.connect" in block.partition("```")[0])
    file = stack.cwd / "publisher.py"
    file.write_text(code.partition("```")[0])
    return await run(sys.executable, file, cwd=cwd, within=20)


async def test_the_guides_publisher_asks_for_a_cluster_as_it_is_printed(stack):
    done = await guide(stack, stack.cwd)
    assert (done.code, done.err) == (0, "")
    await until(lambda: has(stack, "burst"))


async def test_the_guides_publisher_says_in_one_sentence_that_nobody_listens(stack, tmp_path):
    absent = await guide(stack, tmp_path)
    assert (absent.code, absent.err.count("\n")) == (1, 1)
    assert "is `alate up` running?" in absent.err
    (tmp_path / ".alate" / "keys").mkdir(parents=True)
    (tmp_path / ".alate" / "stack.json").write_text('{"nats_url": "nats://127.0.0.1:9"}')
    (tmp_path / ".alate" / "keys" / "publisher.nk").write_bytes(stack.key("publisher").read_bytes())
    away = await guide(stack, tmp_path)
    assert away.code == 1
    assert away.err.splitlines()[-1].startswith("no NATS takes the request: is `alate up` running?")
    assert "Traceback" not in away.err


async def test_a_cluster_that_is_asked_for_has_a_history_and_a_lineage(stack):
    asked = await stack.alate("request", "told", "--gpus", "8", "--wait")
    assert asked.code == 0, asked
    history = (await stack.alate("events", "history", "told-main", "-o", "json")).json["items"]
    assert "ready" in [turn["state"] for turn in history]
    lineage = await stack.alate("events", "lineage", history[0]["id"])
    assert "cluster.ready.default.told-main" in lineage.out
    assert (await stack.alate("delete", "told", "--wait")).code == 0
