"""The folder of a local stack: everything that the next start needs."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO, TypeVar

import msgspec

T = TypeVar("T")


LOOKS = 5
"""How often a lock is tried: another command that only looks holds it for an instant."""


class LocalPorts(msgspec.Struct, frozen=True):
    """Where the stack listens on the loopback; kept, so that a kubeconfig handed out yesterday is good today."""

    api: int
    nats: int
    monitor: int
    """The monitoring page of nats-server, where it has one."""
    health: tuple[int, ...]
    """One per service, in the order of `services`."""
    edge: int = 0
    """Webhooks; 0: a folder of before there were any."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """How a running stack is reached."""

    pid: int
    nats_url: str
    kubeconfig: str
    """Absolute path of the management cluster's."""
    nkey: str = ""
    """Absolute path of the operator's key; empty: the NATS is another's, and so are its keys."""


class Taken(Exception):
    """Another stack runs in this folder; the message is one clear sentence."""


class Absent(Exception):
    """No stack runs in this folder; the message is one clear sentence."""


class Folder:
    """Paths below `root`, and the lock that keeps a second stack out."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.kubeconfig = self.root / "kubeconfig"
        self.logs = self.root / "logs"
        self.nats = self.root / "nats"
        self.keys = self.root / "keys"
        self.hooks = self.root / "hooks"
        """Webhook endpoints and their secrets."""
        self.targets = self.root / "outbound"
        """Who is told outside, and their secrets."""
        self.sandbox = self.root / "sandbox"
        self._address = self.root / "stack.json"
        self._ports = self.root / "ports.json"
        self._lock: IO[bytes] | None = None

    def take(self) -> None:
        """Make the folder (mode 0700) and lock it; the lock goes with us, however we end. Raises Taken."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        lock = (self.root / "lock").open("ab")
        if not _locked(lock):
            lock.close()
            who = self._read(Address, self._address)
            by = f" (process {who.pid})" if who else ""
            raise Taken(f"alate is already running in {self.root}{by}: stop that first, or name another --dir")
        self._lock = lock
        self._address.unlink(missing_ok=True)

    def leave(self) -> None:
        """Give the folder free; what is in it stays."""
        if self._lock is not None:
            self._address.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def ports(self) -> LocalPorts | None:
        """Where the stack listened last time."""
        return self._read(LocalPorts, self._ports)

    def ports_lost(self) -> str:
        """The warning where the ports of the last start are unknown; empty where they are known."""
        if self.ports() is not None or not self.kubeconfig.exists():
            return ""
        wrong = "cannot be read" if self._ports.exists() else "is gone"
        return f"{self._ports} {wrong}: new ports are taken, so kubeconfigs copied elsewhere open nothing any more"

    def keep_ports(self, ports: LocalPorts) -> None:
        """Remember where the stack listens."""
        self._ports.write_bytes(msgspec.json.encode(ports))

    def announce(self, nats_url: str, kubeconfig: Path, nkey: Path | None = None) -> None:
        """Write down for other commands how to reach the stack."""
        address = Address(pid=os.getpid(), nats_url=nats_url, kubeconfig=str(kubeconfig), nkey=str(nkey or ""))
        self._address.write_bytes(msgspec.json.encode(address))

    def address(self) -> Address:
        """How to reach the stack that runs here. Raises Absent."""
        found = self._read(Address, self._address) if self._held() else None
        if found is None:
            raise Absent(
                f"no alate is running in {self.root}: start it with `alate up`, "
                "or name its folder with --dir, or a kubeconfig and a NATS with --kubeconfig and --nats"
            )
        return found

    def _held(self) -> bool:
        try:
            with (self.root / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    @staticmethod
    def _read(kind: type[T], file: Path) -> T | None:
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (FileNotFoundError, msgspec.DecodeError):  # none yet, or half written when somebody was killed
            return None


def _locked(lock: IO[bytes]) -> bool:
    for _ in range(LOOKS):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
