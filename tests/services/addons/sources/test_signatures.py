"""Signatures that cosign 3.1.3 made, in the form of its version 2 and in its own, are verified as recorded."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from services.addons.sources.signatures import bundle_is_by, payload_is_by

DIGEST = "sha256:c639c7702e3bbcaf73db7b5927fac5004af494cd7ff78e39b5b046200670f0e1"
KEY_TEXT = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIwALeQWQMQHOV79LPQbIzhz/xusZd/ICh24Zn7gjVEWuiZDpCO6A+wRVDG/x"
    "tD3r4YxbbDnfnI/e6mE8yMaSUg=="
)
KEY = load_pem_public_key(f"-----BEGIN PUBLIC KEY-----\n{KEY_TEXT}\n-----END PUBLIC KEY-----\n".encode())
STATEMENT = (
    "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJkaWdlc3QiOnsic2hhMjU2"
    "IjoiYzYzOWM3NzAyZTNiYmNhZjczZGI3YjU5MjdmYWM1MDA0YWY0OTRjZDdmZjc4ZTM5YjViMDQ2MjAwNjcwZjBlMSJ9LCJh"
    "bm5vdGF0aW9ucyI6e319XSwicHJlZGljYXRlVHlwZSI6Imh0dHBzOi8vc2lnc3RvcmUuZGV2L2Nvc2lnbi9zaWduL3YxIiwi"
    "cHJlZGljYXRlIjp7fX0="
)
STATEMENT_SIGNATURE = "MEYCIQDNIt3dmNrbwQOoaqbBy9AX3Yuog5UVNI0CNTREcBfZ6gIhAOJiP2Kcueqxj98JvitFDO74c6Wcc34Qgd+InID82+oC"
ENVELOPE = {
    "payload": STATEMENT,
    "payloadType": "application/vnd.in-toto+json",
    "signatures": [{"sig": STATEMENT_SIGNATURE}],
}
BUNDLE = json.dumps({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": ENVELOPE}).encode()
PAYLOAD_TEXT = (
    '{"critical":{"identity":{"docker-reference":"127.0.0.1:36775/c3"},"image":{"docker-manifest-dige'
    'st":"sha256:c639c7702e3bbcaf73db7b5927fac5004af494cd7ff78e39b5b046200670f0e1"},"type":"cosign co'
    'ntainer image signature"},"optional":null}'
)
PAYLOAD = PAYLOAD_TEXT.encode()
PAYLOAD_SIGNATURE = "MEYCIQDkkT6LXtxY9tn4hC+iLNNcLsQJvRiqLBjkCmZYFKzoiAIhANoVj5iuLHxczcGwBok6UR+1XRrcJRe3I5Hznb2V+j6G"
OTHER_KEY = generate_private_key(SECP256R1()).public_key()
OTHER = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("key", "about", "good"), [(KEY, DIGEST, True), (OTHER_KEY, DIGEST, False), (KEY, OTHER, False)]
)
def test_what_the_real_cosign_has_signed_is_verified(key, about, good):
    assert bundle_is_by(key, BUNDLE, about) == good
    assert payload_is_by(key, PAYLOAD, PAYLOAD_SIGNATURE, about) == good


def test_a_changed_byte_of_the_real_signatures_is_noticed():
    assert not bundle_is_by(KEY, BUNDLE.replace(STATEMENT[:40].encode(), STATEMENT[:39].encode() + b"A"), DIGEST)
    assert not payload_is_by(KEY, PAYLOAD + b" ", PAYLOAD_SIGNATURE, DIGEST)
