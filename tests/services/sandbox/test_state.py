"""Who the sandbox is stays the same over restarts, and nobody else can read it."""

from datetime import UTC, datetime, timedelta

from services.sandbox.state import identity, seal, token

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_a_second_start_is_the_same_server(tmp_path):
    assert identity(tmp_path, NOW) == identity(tmp_path, NOW + timedelta(days=100))
    assert seal(tmp_path) == seal(tmp_path)


def test_a_certificate_near_its_end_is_made_anew(tmp_path):
    assert identity(tmp_path, NOW) != identity(tmp_path, NOW + timedelta(days=340))


def test_secrets_are_for_their_owner_alone(tmp_path):
    identity(tmp_path / "deep", NOW)
    seal(tmp_path / "deep")
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "deep").iterdir()} == {"0o600"}


def test_each_incarnation_has_a_token_of_its_own():
    assert token(b"s", "acme.c", "uid-1") == token(b"s", "acme.c", "uid-1")
    assert len({token(b"s", "acme.c", "uid-1"), token(b"s", "acme.c", "uid-2"), token(b"t", "acme.c", "uid-1")}) == 3
