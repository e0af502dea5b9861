"""The local stack's keys: one each, kept, and nobody else's to read."""

import stat

import pytest

from events.errors import Denied
from events.jetstream.accounts import public_key
from events.jetstream.credentials import seed
from services.local.keys import keys, known
from services.roles import ROLES, SANDBOX


def test_everybody_has_a_key_that_only_its_owner_can_read(tmp_path):
    known(tmp_path / "keys")
    files = list((tmp_path / "keys").iterdir())
    assert {file.stem for file in files} == {role.name for role in (*ROLES, SANDBOX)}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert len({seed(file) for file in files}) == len(files)


def test_the_server_is_told_public_halves_and_no_seed(tmp_path):
    told = known(tmp_path)
    for file in tmp_path.iterdir():
        assert public_key(seed(file)) in told
        assert seed(file) not in told


def test_a_second_start_knows_the_same_keys(tmp_path):
    assert known(tmp_path) == known(tmp_path)


def test_a_key_that_was_broken_is_one_sentence(tmp_path):
    (tmp_path / "gateway.nk").write_text("not a seed")
    with pytest.raises(Denied, match=r"gateway\.nk holds no NKey seed"):
        keys(tmp_path, ("gateway",))
