"""Verifies signatures and tokens in constant time."""

import hmac
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from events.http.standard_webhooks import signature
from services.edge.http.problem import unauthorized
from services.edge.webhooks.request import LONGEST, WebhookRequest

TOLERANCE = timedelta(minutes=5)
"""The greatest difference between a signed time and now (as Standard Webhooks recommends)."""
SIGNATURES = 16
"""How many signatures one request may carry: a sender that changes its secret sends two."""


def signed_hex(request: WebhookRequest, header: str) -> None:
    """``sha256=<hex>`` of the body. Raises Problem 401."""
    shown = _shown(request, header)
    _need_one(shown, [b"sha256=" + _mac(secret, request.body).hex().encode() for secret in request.secrets], header)


def signed_standard(request: WebhookRequest) -> None:
    """Standard Webhooks: one of several ``v1,<base64>`` over id, time and body. Raises Problem 401."""
    shown = _shown(request, "webhook-signature").split(b" ")
    name, stamp = request.headers.get("webhook-id", ""), request.headers.get("webhook-timestamp", "")
    good = tuple(signature(secret, _bytes(name), _bytes(stamp), request.body) for secret in request.secrets)
    if not _matches(shown[:SIGNATURES], good):
        raise unauthorized("webhook-signature is not that of this id, time and body", "webhook-signature")
    if not name or len(name) > LONGEST:
        raise unauthorized(f"webhook-id must have 1 to {LONGEST} characters", "webhook-id")
    check_time(stamp, request.now)


def check_time(stamp: str, now: datetime) -> None:
    """Seconds since 1970, close to now. Raises Problem 401."""
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 12):
        raise unauthorized("webhook-timestamp must be whole seconds since 1970", "webhook-timestamp")
    ahead = datetime.fromtimestamp(int(stamp), UTC) - now
    if abs(ahead) > TOLERANCE:
        side = "in the future" if ahead > timedelta() else "old"
        seconds = abs(int(ahead.total_seconds()))
        allowed = int(TOLERANCE.total_seconds())
        raise unauthorized(f"webhook-timestamp is {seconds} s {side}: at most {allowed} s", "webhook-timestamp")


def token(request: WebhookRequest, header: str) -> None:
    """Verify a header that contains the secret itself. Raises Problem 401."""
    _need_one(_shown(request, header), request.secrets, header)


def bearer(request: WebhookRequest) -> None:
    """``Authorization: Bearer <secret>``. Raises Problem 401."""
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise unauthorized(
            "Authorization is missing: expected Bearer and the endpoint's token", "Authorization", "Bearer"
        )
    _need_one(_bytes(shown.strip()), request.secrets, "Authorization", "Bearer")


def _need_one(shown: bytes, good: Sequence[bytes], header: str, scheme: str = "Signature") -> None:
    if not _matches((shown,), good):
        raise unauthorized(f"{header} is not good for this body and this endpoint", header, scheme)


def _matches(shown: Iterable[bytes], good: Sequence[bytes]) -> bool:
    """Whether one of the secrets matches; all are compared, so that the time reveals nothing."""
    return any([hmac.compare_digest(one, right) for one in shown for right in good])  # noqa: C419 - any() would stop


def _shown(request: WebhookRequest, header: str) -> bytes:
    if not (shown := request.headers.get(header)):
        raise unauthorized(f"{header} is missing", header)
    return _bytes(shown)


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, sha256)


def _bytes(text: str) -> bytes:
    return text.encode()
