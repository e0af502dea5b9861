"""The process that does one operation of Helm: a request on standard input, a reply on standard output.

Its argv[0] must be called `helm`: Helm takes the field manager of what it applies from there.
"""

import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import msgspec

from events.kube.port import Object
from services.addons.helm.errors import BEFORE_INSTALL, fault_from
from services.addons.helm.manifest import documents, is_hook, released
from services.addons.helm.protocol import (
    FaultKind,
    WorkerFault,
    WorkerReply,
    WorkerRequest,
    decode_request,
    encode_reply,
)

MEMORY = 2 * 1024**3
"""Bytes of address space: the SDK reserves 1.5 GB of it, and has 130 MB in memory with the largest known chart."""
TOO_MUCH_MEMORY = "the chart needs more memory than Helm may use for it"
PROCESSOR_SECONDS = 120
"""A hundred times what the largest known chart takes."""
FILE = 64 * 1024**2
"""Bytes of a file that it may write."""
NOTES = "/NOTES.txt"
"""The template that gives no object, but a text for people."""
UPGRADE = {"server_side_apply": "true", "reset_values": True}
"""Without the latter Helm takes the values of the last revision where none are given."""
NO_KIND = "no matches for kind"
LOOKS, PAUSE = 20, 0.5
"""How often, and how many seconds apart, new kinds are looked for: they are served a moment after their definition."""
NO_CHART = 0
"""The handle that says that a chart is named by its path."""


class HelmSession:
    """One request, and the SDK with a connection for it."""

    def __init__(self, request: WorkerRequest) -> None:
        import helm_python  # noqa: PLC0415 - 85 MB, after the process has limited itself
        from helm_python import _native  # noqa: PLC0415 - more options than the public functions have

        self.request = request
        self._sdk, self._native = helm_python, _native
        self._config = helm_python.Config(
            kubeconfig_path=_kubeconfig_file(request.kubeconfig),
            kube_as_user=request.as_user or None,
            namespace=request.namespace,
            burst_limit=200,
            qps=100.0,
        )

    def apply(self, function: str, **options: Any) -> Object:  # noqa: ANN401 - options of any kind
        """Install or upgrade; returns the release."""
        request, none = self.request, self._native.HANDLE(NO_CHART)
        chosen = msgspec.json.encode(self._options() | options).decode()
        values = msgspec.json.encode(request.values).decode()
        return self._called(function, none, none, request.chart, request.release, values, chosen)

    def call(self, function: str, **options: Any) -> Object:  # noqa: ANN401 - options of any kind
        """Do something about the release; returns the answer."""
        return self._called(function, self.request.release, msgspec.json.encode(options).decode())

    def roll_back(self, **options: Any) -> None:  # noqa: ANN401 - options of any kind
        """Go back to another revision."""
        chosen = msgspec.json.encode(options).decode()
        self._native.call_status("helm_rollback", self._config._raw(), self.request.release, chosen)  # noqa: SLF001

    def render(self, **options: Any) -> dict[str, str]:  # noqa: ANN401 - options of any kind
        """What the chart's templates give, hooks included, by file."""
        chart = self._sdk.Chart.load(self.request.chart)
        values = msgspec.json.encode(self.request.values).decode()
        chosen = msgspec.json.encode(options).decode()
        found: dict[str, str] = self._called("helm_render_with_config", chart._raw(), values, chosen)  # noqa: SLF001
        return found

    def crds(self) -> list[Object]:
        """The definitions of the chart's folder of CRDs, those of its dependencies included."""
        return [each for one in self._sdk.Chart.load(self.request.chart).crds for each in self.documents(one["data"])]

    def defines(self, error: str) -> bool:
        """Whether an error is about a kind that the chart's folder of CRDs defines."""
        if NO_KIND not in error or self.request.skip_crds:
            return False
        return any(f'in version "{each["spec"]["group"]}/' in error for each in self.crds())

    def documents(self, text: str) -> list[Object]:
        """The objects of a manifest."""
        return documents(text, self._sdk.values_from_yaml)

    def reply(self, release: Object) -> WorkerReply:
        """The reply that says what a release is."""
        request = self.request
        objects = [released(one, request.release, request.namespace) for one in self.documents(release["manifest"])]
        return WorkerReply(revision=release["revision"], status=release["status"], objects=objects)

    def _called(self, function: str, *words: Any) -> dict[str, Any]:  # noqa: ANN401 - words of any kind
        found: dict[str, Any] = msgspec.json.decode(self._native.call_string(function, self._config._raw(), *words))  # noqa: SLF001
        return found

    def _options(self) -> dict[str, Any]:
        request = self.request
        return {
            "namespace": request.namespace,
            "timeout_seconds": request.timeout_seconds,
            "wait": "watcher" if request.roll_back else "hookOnly",
            "rollback_on_failure": request.roll_back,
            "labels": request.labels,
            "force_conflicts": True,
            "skip_crds": request.skip_crds,
            "disable_hooks": request.skip_hooks,
            "disable_openapi_validation": True,  # the API server checks every field itself when it applies
        }


def _install(session: HelmSession) -> WorkerReply:
    for _ in range(LOOKS):
        try:
            return _installed(session)
        except Exception as error:
            if not session.defines(str(error)):
                raise
        time.sleep(PAUSE)
        session = HelmSession(session.request)  # which asks once more what is served
    return _installed(session)


def _installed(session: HelmSession) -> WorkerReply:
    try:
        new = session.apply("helm_install", create_namespace=session.request.create_namespace, server_side_apply=True)
    except Exception as error:
        if BEFORE_INSTALL in str(error):  # an upgrade would not run that hook again, so the next try must install
            session.call("helm_uninstall", disable_hooks=True, ignore_not_found=True)
        raise
    return session.reply(new)


def _upgrade(session: HelmSession) -> WorkerReply:
    return session.reply(session.apply("helm_upgrade", max_history=session.request.max_history, **UPGRADE))


def _roll_back(session: HelmSession) -> WorkerReply:
    request = session.request
    session.roll_back(
        version=request.revision,
        timeout_seconds=request.timeout_seconds,
        wait="hookOnly",
        force_conflicts=True,
        server_side_apply="true",
        disable_hooks=request.skip_hooks,
        max_history=request.max_history,
    )
    return WorkerReply()


def _uninstall(session: HelmSession) -> WorkerReply:
    request = session.request
    found = _read(session)
    session.call(
        "helm_uninstall",
        timeout_seconds=request.timeout_seconds,
        disable_hooks=request.skip_hooks,
        ignore_not_found=True,
        wait="hookOnly",
    )
    return found


def _read(session: HelmSession) -> WorkerReply:
    whole = session.call("helm_get")
    hooks = [each for one in whole["hooks"] or () for each in session.documents(one["manifest"])]
    return msgspec.structs.replace(session.reply(whole["summary"]), hooks=hooks)


def _render(session: HelmSession) -> WorkerReply:
    request = session.request
    by_file = session.render(
        name=request.release,
        namespace=request.namespace,
        kube_version=request.kube_version,
        api_versions=list(request.api_versions),
        revision=request.revision + 1,
        is_install=not request.revision,
        is_upgrade=bool(request.revision),
    )
    found = [one for name, text in by_file.items() if not name.endswith(NOTES) for one in session.documents(text)]
    return WorkerReply(
        objects=[released(one, request.release, request.namespace) for one in found if not is_hook(one)],
        hooks=[one for one in found if is_hook(one)],
        crds=[] if request.skip_crds else session.crds(),
    )


OPERATIONS: dict[str, Callable[[HelmSession], WorkerReply]] = {
    "install": _install,
    "upgrade": _upgrade,
    "rollback": _roll_back,
    "uninstall": _uninstall,
    "read": _read,
    "render": _render,
}


def perform(request: WorkerRequest) -> WorkerReply:
    """Do what is asked; every failure becomes a fault in the reply."""
    try:
        return OPERATIONS[request.operation](HelmSession(request))
    except MemoryError:
        return WorkerReply(fault=WorkerFault(FaultKind.DENIED, TOO_MUCH_MEMORY, "TooCostly"))
    except Exception as error:  # noqa: BLE001 - the SDK has many, and the service gets each in the reply
        return WorkerReply(fault=fault_from(type(error).__name__, str(error)))


def limit() -> None:
    """Limit what the process may use, and write no core dump."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_FSIZE: FILE}
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))
    resource.setrlimit(
        resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 1)
    )  # first the signal that says why


def end_with_parent() -> None:
    """End the process as soon as its standard input is closed: nobody waits for it any more."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _kubeconfig_file(text: str) -> str:
    """A file that holds the kubeconfig, in memory alone where the system can: it opens a cluster."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("kubeconfig")
        os.write(number, text.encode())
        return f"/proc/self/fd/{number}"
    place = Path(gettempdir()) / "kubeconfig"
    place.touch(0o600)
    place.write_text(text)
    return str(place)


def main() -> None:
    """Do the one operation. What the SDK prints goes to standard error, so that the reply stands alone."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    request = decode_request(sys.stdin.buffer.readline())
    end_with_parent()
    limit()
    with answer:
        answer.write(encode_reply(perform(request)))
    os._exit(0)  # without waiting for threads of the SDK


if __name__ == "__main__":
    main()
