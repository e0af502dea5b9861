"""Secrets in files are nobody else's."""

import stat

from services.process.secret_file import write_private


def test_a_secret_is_for_its_owner_alone(tmp_path):
    write_private(tmp_path / "deep" / "secret", b"all of it")
    assert stat.S_IMODE((tmp_path / "deep" / "secret").stat().st_mode) == 0o600


def test_a_file_is_replaced_even_after_a_crash_in_between(tmp_path):
    (tmp_path / ".kubeconfig.part").write_text("half of it")
    write_private(tmp_path / "kubeconfig", b"all of it")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"all of it"]
