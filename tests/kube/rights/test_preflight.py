"""On a real API server with RBAC, the preflight finds nothing wrong with what is shipped, and names what is gone."""

from datetime import UTC, datetime

import pytest

from services.cli.preflight import management_cluster
from services.cli.preflight.facts import MissingRight
from tests.kube.rights.conftest import KINDS, NOBODY

pytestmark = [pytest.mark.kube, pytest.mark.timeout(240)]


def clock() -> datetime:
    return datetime.now(UTC)


async def test_the_preflight_names_the_rights_that_were_taken_away(accounts):
    sound = await management_cluster.gathered(accounts.admin, "alate", clock)
    assert (sound.unreachable, sound.missing_rights, sound.rights_unknown) == ("", (), "")
    assert (sound.missing_crds, sound.older_crds, sound.missing_accounts, sound.skew) == ((), {}, (), 0.0)
    assert sound.version is not None
    await accounts.admin.delete(KINDS["ServiceAccount"], "outbound", "alate")
    await accounts.admin.delete(KINDS["ClusterRoleBinding"], "alate-edge-actions")
    found = await management_cluster.gathered(accounts.admin, "alate", clock)
    assert found.missing_accounts == ("alate/outbound",)
    assert set(found.missing_rights) >= {MissingRight("alate/edge", "delete", "colonies.alate.dev")}
    assert {right.account for right in found.missing_rights} == {"alate/edge"}
    nobody = await accounts.kube(NOBODY)
    assert "forbidden" in (await management_cluster.gathered(nobody, "alate", clock)).unreachable
