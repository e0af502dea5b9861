"""What `alate up` says can be typed as it stands."""

import re
import shlex

import pytest

from services.cli.up.stack import _welcome, running
from services.errors import BadInput
from services.local.folder import Folder, LocalPorts
from services.local.programs import SERVICES, Wiring


def test_paths_with_a_space_are_quoted(tmp_path):
    wiring = Wiring(Folder(tmp_path / "my dir"), LocalPorts(1, 2, 3, tuple(range(len(SERVICES)))))
    lines = _welcome(wiring).splitlines()
    (export,) = (line for line in lines if "export KUBECONFIG=" in line)
    assert shlex.split(export)[1:] == ["export", f"KUBECONFIG={tmp_path}/my dir/kubeconfig"]
    (nats,) = (line.partition("; more in")[0].replace("(", "") for line in lines if "--nkey" in line)
    assert f"{tmp_path}/my dir/keys/publisher.nk" in shlex.split(nats)


async def test_prices_that_are_nowhere_end_the_start_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("ALATE_CATALOG", f"{tmp_path},aws={tmp_path}/aws.csv,https://prices.example/gcp.csv")
    told = f"ALATE_CATALOG names {tmp_path}/aws.csv: there is no such file or folder; name one with price catalogs"
    with pytest.raises(BadInput, match=re.escape(told)):
        async with running(Folder(tmp_path / "stack")):
            pass
    assert not (tmp_path / "stack").exists()
