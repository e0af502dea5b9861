"""What `alate up` says can be typed as it stands."""

import shlex

from services.cli.up.stack import _welcome
from services.local.folder import Folder, LocalPorts
from services.local.programs import SERVICES, Wiring


def test_paths_with_a_space_are_quoted(tmp_path):
    wiring = Wiring(Folder(tmp_path / "my dir"), LocalPorts(1, 2, 3, tuple(range(len(SERVICES)))))
    lines = _welcome(wiring).splitlines()
    (export,) = (line for line in lines if "export KUBECONFIG=" in line)
    assert shlex.split(export)[1:] == ["export", f"KUBECONFIG={tmp_path}/my dir/kubeconfig"]
    (nats,) = (line.partition("; more in")[0].replace("(", "") for line in lines if "--nkey" in line)
    assert f"{tmp_path}/my dir/keys/publisher.nk" in shlex.split(nats)
