"""Signatures of cosign are verified with a key before anything of an artifact is kept."""

import base64
import json

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from events.errors import Denied
from services.addons.sources.signatures import BUNDLE, SIGNATURE, SIGNED, STATEMENT
from tests.services.addons.sources.registry import CHART, SIMPLE, Blob, FakeRegistry, chart, push
from tests.services.addons.sources.world import spec

KEY, OTHER = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())


def pem(key) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def signed(key, about: str, said: str | None = None) -> Blob:
    """A signature as cosign writes it; `said`: what is in the registry is another payload."""
    image = {"docker-manifest-digest": about}
    critical = {"identity": {"docker-reference": "x"}, "image": image, "type": "cosign container image signature"}
    payload = {"critical": critical, "optional": None}
    data = json.dumps(payload).encode()
    signature = base64.b64encode(key.sign(data, ECDSA(SHA256()))).decode()
    return Blob(said.encode() if said else data, SIMPLE, {SIGNATURE: signature})


@pytest.fixture
async def address(world, server):
    FakeRegistry(server)
    await world.secret("key", cosign__pub=pem(KEY))
    return server.url.removeprefix("http://")


def driver(address: str, **more):
    chart = {"repository": f"oci://{address}", "name": "driver", "version": "1.0.0"}
    return spec(chart=chart, cosignKey={"name": "key", **more})


async def sign(address: str, *signatures) -> str:
    found = await push(address, "driver", "1.0.0", Blob(chart(), CHART))
    made = [signature(found) for signature in signatures]
    if made:
        await push(address, "driver", f"{found.replace(':', '-')}.sig", *made)
    return found


async def test_what_the_key_has_signed_is_taken_also_beside_other_signatures(world, address):
    found = await sign(address, lambda about: signed(OTHER, about), lambda about: signed(KEY, about))
    assert (await world.sources().fetch(driver(address), "acme")).revision == f"1.0.0@{found}"


@pytest.mark.parametrize(
    "signature",
    [
        lambda about: signed(OTHER, about),
        lambda _: signed(KEY, "sha256:" + "0" * 64),
        lambda about: signed(OTHER, about)._replace(annotations={SIGNATURE: "!"}),
        lambda about: signed(KEY, about, said=json.dumps({"critical": {"image": {"docker-manifest-digest": about}}})),
        lambda about: signed(KEY, about)._replace(annotations={}),
        lambda _: Blob(b"[]", SIMPLE, {SIGNATURE: base64.b64encode(KEY.sign(b"[]", ECDSA(SHA256()))).decode()}),
    ],
    ids=["another key", "another artifact", "no base64", "another payload", "no signature", "no payload"],
)
async def test_what_the_key_has_not_signed_is_refused_and_not_kept(world, address, signature):
    await sign(address, signature)
    with pytest.raises(Denied, match="has no cosign signature") as refused:
        await world.sources().fetch(driver(address), "acme")
    assert refused.value.reason == "SignatureInvalid"
    assert not list(world.folder.glob("*/trees/*"))


async def test_what_nobody_has_signed_is_refused(world, address):
    await sign(address)
    with pytest.raises(Denied, match=r"has no cosign signature at all$"):
        await world.sources().fetch(driver(address), "acme")


@pytest.mark.parametrize(
    ("text", "more", "why"),
    [
        ("no key", {}, "is no public key in PEM"),
        (pem(Ed25519PrivateKey.generate()), {}, "is of another kind than ECDSA"),
        (pem(KEY), {"key": "other.pub"}, r"Secret acme/key has no key other.pub$"),
    ],
)
async def test_a_key_that_is_none_is_told(world, address, text, more, why):
    await world.secret("key", cosign__pub=text)
    await sign(address, lambda about: signed(KEY, about))
    with pytest.raises(Denied, match=why):
        await world.sources().fetch(driver(address, **more), "acme")


async def test_a_key_for_what_cosign_does_not_sign_is_refused_and_not_ignored(world, server, address):
    for source in (
        {"url": f"{server.url}/x.yaml"},
        {"chart": {"repository": server.url, "name": "x"}},
        {"configMap": {"name": "x"}},
    ):
        with pytest.raises(Denied, match="cosignKey is for charts and artifacts of an OCI registry") as refused:
            await world.sources().fetch(spec(**source, cosignKey={"name": "key"}), "acme")
        assert refused.value.reason == "Unsupported"


def bundle(key, about: str, predicate: str = SIGNED, kind: str = STATEMENT) -> bytes:
    """A signature as cosign 3 writes it."""
    subject = [{"digest": {"sha256": about.removeprefix("sha256:")}}]
    statement = {"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": predicate}
    payload = json.dumps(statement).encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    signature = base64.b64encode(key.sign(signed, ECDSA(SHA256()))).decode()
    text = base64.b64encode(payload).decode()
    envelope = {"payload": text, "payloadType": kind, "signatures": [{"sig": signature, "keyid": ""}]}
    return json.dumps(
        {"mediaType": f"{BUNDLE}.v0.3+json", "verificationMaterial": {}, "dsseEnvelope": envelope}
    ).encode()


@pytest.mark.parametrize("listed", ["by the registry", "under a tag"])
async def test_what_cosign_3_has_signed_is_taken(world, server, address, listed):
    found = await sign(address)
    await refer(server, address, found, bundle(KEY, found), listed)
    assert (await world.sources().fetch(driver(address), "acme")).revision == f"1.0.0@{found}"


async def refer(server, address: str, about: str, data: bytes, listed: str) -> None:
    """Push a bundle, and list it as the registry would, or as cosign does where the registry does not."""
    pushed = await push(address, "driver", "bundle", Blob(data, f"{BUNDLE}.v0.3+json"))
    index = json.dumps({"manifests": [{"digest": pushed, "artifactType": "application/vnd.oci.empty.v1+json"}]})
    path = f"referrers/{about}" if listed == "by the registry" else f"manifests/{about.replace(':', '-')}"
    server.handlers[f"/v2/driver/{path}"] = answering(index)


def answering(text: str):
    async def answer(request):
        return web.Response(text=text)

    return answer


@pytest.mark.parametrize(
    "made",
    [
        lambda about: bundle(OTHER, about),
        lambda _: bundle(KEY, "sha256:" + "0" * 64),
        lambda about: bundle(KEY, about, predicate="https://cyclonedx.org/bom"),
        lambda about: bundle(KEY, about, kind="text/plain"),
        lambda about: bundle(KEY, about).replace(STATEMENT.encode(), b"text/plain"),
        lambda _: b"{}",
        lambda _: b"[" * 100_000,
    ],
    ids=["another key", "another artifact", "a list of contents", "another kind", "kind changed", "empty", "brackets"],
)
async def test_what_cosign_3_has_not_signed_is_refused(world, server, address, made):
    found = await sign(address)
    await refer(server, address, found, made(found), "by the registry")
    with pytest.raises(Denied, match="has no cosign signature by the key that is given") as refused:
        await world.sources().fetch(driver(address), "acme")
    assert refused.value.reason == "SignatureInvalid"
