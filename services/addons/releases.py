"""The name of a Helm release with its namespace, as records and levels write it, so that both are read back alike."""


def release_name(namespace: str, release: str) -> str:
    """``<namespace>/<release>``."""
    return f"{namespace}/{release}"


def split_release(name: str) -> tuple[str, str]:
    """Namespace and release."""
    namespace, _, release = name.partition("/")
    return namespace, release
