"""Signatures of cosign are verified with a key before anything of an artifact is kept."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from events.errors import Denied
from services.addons.sources.cosign import SIGNATURE
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
    with pytest.raises(Denied, match="has no cosign signature by the key that is given") as refused:
        await world.sources().fetch(driver(address), "acme")
    assert refused.value.reason == "SignatureInvalid"
    assert not list(world.folder.glob("*/trees/*"))


async def test_what_nobody_has_signed_is_refused(world, address):
    await sign(address)
    with pytest.raises(Denied, match=r"has no cosign signature$"):
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
