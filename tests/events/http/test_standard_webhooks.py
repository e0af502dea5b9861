"""What is signed is what Standard Webhooks says: held against the specification's own example."""

import pytest

from events.http.standard_webhooks import key_of, signature

SECRET = b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NAME, STAMP, BODY = b"msg_p5jXN8AQM9LWM0D4loKWxJek", b"1614265330", b'{"test": 2432232314}'


def test_a_signature_is_that_of_the_specifications_example():
    assert signature(SECRET, NAME, STAMP, BODY) == b"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_without_the_prefix_is_the_key_itself():
    assert key_of(b"It's a Secret") == b"It's a Secret"


def test_a_damaged_secret_is_said_to_be_one():
    with pytest.raises(ValueError, match="what follows whsec_ is no base64"):
        key_of(b"whsec_?")
