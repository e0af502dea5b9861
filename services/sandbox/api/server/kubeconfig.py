"""Writes the kubeconfig of a cluster."""

from base64 import b64decode, b64encode

import yaml

from events.kube.port import Object


def kubeconfig(server: str, cluster: str, ca_pem: bytes | str, token: str = "") -> str:
    """YAML for the cluster at ``<server>/clusters/<cluster>``, with its CA and its token if it has one."""
    authority = b64encode(ca_pem if isinstance(ca_pem, bytes) else ca_pem.encode()).decode()
    where = {"server": f"{server}/clusters/{cluster}", "certificate-authority-data": authority}
    # kubectl asks for a user name where there is no credential, so there always is one.
    user = {"token": token or "sandbox"}
    context = {"cluster": cluster, "user": cluster, "namespace": "default"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": where}],
        "users": [{"name": cluster, "user": user}],
        "contexts": [{"name": cluster, "context": context}],
        "current-context": cluster,
    }
    return str(yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False))  # libyaml: ten times as fast


def place_of(secret: Object) -> str:
    """The cluster of the kubeconfig in a Secret; empty unless it was written here."""
    try:
        config = yaml.load(b64decode(secret["data"]["value"]), Loader=yaml.CSafeLoader)
        return str(config["current-context"])
    except (KeyError, TypeError, ValueError, yaml.YAMLError):
        return ""
