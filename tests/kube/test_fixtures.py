"""A test that needs the real Kubernetes skips where there is none, and says how to get it; or it fails, if told to."""

import pytest

from tests.kube.fixtures import needs
from tests.kube.places import home


@pytest.fixture(autouse=True)
def nothing_built(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


@pytest.mark.parametrize(
    ("told", "stops"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)], ids=["may skip", "required"]
)
def test_what_is_missing_is_named(told, stops, monkeypatch):
    monkeypatch.setenv("ALATE_TEST_KUBE", told)
    with pytest.raises(stops) as stopped:
        needs("etcd", "kwok")
    assert str(stopped.value) == f"etcd, kwok not in {home()}: `make kube` builds what is missing"


def test_what_is_there_stops_nothing():
    home().mkdir(parents=True)
    (home() / "etcd").touch()
    needs("etcd")
