"""What our objects are known by is named in one place, for those who write them and those who look for them."""

GROUP = "alate.dev"
CLUSTER = f"{GROUP}/cluster"
UID = f"{GROUP}/uid"
ATTEMPT = f"{GROUP}/attempt"
MANAGER = "alate"
"""Our field manager, and the value of ``app.kubernetes.io/managed-by``."""
