"""Sources of Flux: the artifact that the object's status names, verified, whenever its revision changes."""

import hashlib

import pytest
from aiohttp import web

from events.errors import Denied, NotFound, TryLater
from events.http.addresses import LOOPBACK, PRIVATE, Reach
from events.kube.discovery import find
from events.kube.resources import CRDS
from tests.services.addons.sources.world import CONFIG, spec, tgz

INSIDE = Reach(frozenset({LOOPBACK, PRIVATE}))
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


async def serve(world, kind: str, version: str = "v1") -> None:
    """A kind of Flux."""
    plural = {"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets"}[kind]
    group = "source.toolkit.fluxcd.io"
    versions = [{"name": version, "served": True, "storage": True, "schema": SCHEMA}]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    crd = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    await world.management.create(CRDS, {"metadata": {"name": f"{plural}.{group}"}, "spec": crd})


async def put(world, kind: str, status, namespace="acme", version: str = "v1") -> None:
    resource = await find(world.management, f"source.toolkit.fluxcd.io/{version}", kind)
    meta = {"name": "repo", "namespace": namespace}
    await world.management.apply(resource, {"metadata": meta, "status": status}, manager="flux")


def artifact(server, data: bytes, revision: str, **more) -> dict:
    server.files[f"/{revision}.tar.gz"] = data
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"artifact": {"url": f"{server.url}/{revision}.tar.gz", "digest": digest, "revision": revision, **more}}


@pytest.mark.parametrize(
    ("kind", "version"),
    [("GitRepository", "v1"), ("OCIRepository", "v1beta2"), ("Bucket", "v1"), ("Bucket", "v1beta2")],
)
async def test_the_objects_revision_is_followed_at_once(world, server, kind, version):
    await serve(world, kind, version)
    sources, source = world.sources(inside=INSIDE), spec(flux={"kind": kind, "name": "repo"}, path="deploy")
    first = artifact(server, tgz({"deploy/one.yaml": CONFIG}), "main@sha1:1")
    await put(world, kind, first, version=version)
    found = await sources.fetch(source, "acme")
    assert found.revision == f"main@sha1:1 {first['artifact']['digest']}"
    assert found.path.joinpath("one.yaml").read_text() == CONFIG
    await sources.fetch(source, "acme")
    assert server.asked["/main@sha1:1.tar.gz"] == 1
    await put(world, kind, artifact(server, tgz({"deploy/two.yaml": CONFIG}), "main@sha1:2"), version=version)
    assert (await sources.fetch(source, "acme")).path.joinpath("two.yaml").is_file()


@pytest.fixture
async def flux(world):
    await serve(world, "GitRepository")
    return spec(flux={"kind": "GitRepository", "name": "repo"})


async def test_an_object_without_an_artifact_is_waited_for_with_its_reason(world, flux):
    ready = {"type": "Ready", "status": "False", "message": "authentication required"}
    await put(world, "GitRepository", {"conditions": [ready]})
    with pytest.raises(TryLater, match=r"^GitRepository acme/repo has no artifact yet: authentication required$"):
        await world.sources().fetch(flux, "acme")


async def test_an_object_or_a_kind_that_is_not_there_is_not_found(world, flux):
    with pytest.raises(NotFound, match="repo"):
        await world.sources().fetch(flux, "acme")
    with pytest.raises(NotFound, match="has no kind Bucket of Flux"):
        await world.sources().fetch(spec(flux={"kind": "Bucket", "name": "repo"}), "acme")


async def test_what_differs_from_the_status_is_refused(world, server, flux):
    await put(world, "GitRepository", artifact(server, tgz({"a": "1"}), "x", digest=f"sha256:{'0' * 64}"))
    with pytest.raises(Denied, match="the artifact of GitRepository acme/repo has the sha256") as refused:
        await world.sources(inside=INSIDE).fetch(flux, "acme")
    assert refused.value.reason == "ChecksumMismatch"


async def test_a_status_without_a_digest_is_refused(world, server, flux):
    await put(world, "GitRepository", artifact(server, tgz({"a": "1"}), "x", digest=""))
    with pytest.raises(Denied, match="has no URL or no sha256 digest"):
        await world.sources(inside=INSIDE).fetch(flux, "acme")


async def test_an_artifact_that_was_just_replaced_is_asked_for_again(world, server, flux):
    await put(world, "GitRepository", artifact(server, tgz({"a": "1"}), "x"))
    server.files.clear()
    with pytest.raises(TryLater, match="GitRepository acme/repo has just replaced its artifact x"):
        await world.sources(inside=INSIDE).fetch(flux, "acme")


async def test_a_status_leads_to_no_metadata_service_nor_to_this_host(world, server, flux):
    await put(world, "GitRepository", artifact(server, tgz({"a": "1"}), "x"))
    with pytest.raises(Denied, match="is of this host itself, which must not be spoken to"):
        await world.sources().fetch(flux, "acme")

    async def leave(request):
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/"})

    server.handlers["/x.tar.gz"] = leave
    with pytest.raises(Denied, match="where clouds keep their machines' credentials"):
        await world.sources(inside=INSIDE).fetch(flux, "acme")


async def test_another_namespaces_object_is_for_profiles_of_all_clusters_alone(world, server, flux):
    await put(world, "GitRepository", artifact(server, tgz({"a.yaml": CONFIG}), "x"))
    source = spec(flux={"kind": "GitRepository", "name": "repo", "namespace": "acme"})
    sources = world.sources(inside=INSIDE)
    with pytest.raises(Denied, match="is for a ClusterAddonProfile alone"):
        await sources.fetch(source, "other")
    assert (await sources.fetch(source, "other", cluster_wide=True)).path.is_dir()
