"""When a cluster goes by itself, and how long that may take, as its wish says it."""

from schemas.wire import WireStruct


class Limits(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """When the cluster shall go by itself (seconds; None: never), and how long that may take."""

    time_to_live_seconds: float | None = None
    """Counted from the first time it is ready."""
    idle_after_seconds: float | None = None
    """Counted from when its last accelerator was let go, or from ready if none was taken."""
    warn_before_seconds: float = 300.0
    drain_timeout_seconds: float = 300.0
    """How long its work may take to end before its machines are given back all the same."""
    clean_timeout_seconds: float = 300.0
    """The same, of its add-ons, load balancers and volumes."""
