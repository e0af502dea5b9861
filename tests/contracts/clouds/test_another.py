"""A cloud more is one file: what is dropped into the folder founds clusters, and is held to this suite."""

from textwrap import dedent

import pytest

import services.clouds
from schemas.cluster import Ready
from services.clouds.port import backend_types
from tests.contracts.clouds.house import House

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FILE = dedent('''\
    """Founds clusters as Cluster API does, under another name."""

    from services.clouds.capi import Capi


    class Another(Capi):
        """The back end."""

        name = "another"


    BACKEND = Another
''')


@pytest.fixture
def dropped(tmp_path, monkeypatch):
    """The name of the back end in a file that lies in the folder."""
    (tmp_path / "another.py").write_text(FILE)
    monkeypatch.setattr(services.clouds, "__path__", [*services.clouds.__path__, str(tmp_path)])
    return "another"


def test_the_suite_is_played_over_every_file_that_declares_a_back_end(dropped):
    assert set(backend_types()) == {"capi", "k0rdent", dropped}


async def test_what_is_dropped_in_founds_clusters(sandbox, dropped):
    house = House(sandbox, dropped)
    async with house.at_work():
        await house.ask()
        assert (await house.until(Ready)).wish.need.backend == dropped
        await house.let_go()
        await house.gone()
        assert await house.objects() == ()
