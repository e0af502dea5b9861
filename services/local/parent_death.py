"""Ends child processes when their supervisor dies."""

import subprocess
from collections.abc import Iterable

GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "gate")
"""Put before a command: it begins with the first line on its input, and never if its parent ends before that."""
# Each line names all groups there are. The end of input is the end of whoever held the pipe's other end:
# the one signal of a parent's death that Linux and macOS share, and that SIGKILL cannot keep back.
_KEEP = 'while read -r now; do groups=$now; done; [ -z "$groups" ] || kill -KILL $groups'


class Keeper:
    """A shell that kills every known process group as soon as this process exits."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None

    def hold(self, groups: Iterable[int]) -> None:
        """These process groups, and no others, end with us."""
        line = " ".join(f"-{group}" for group in groups).encode() + b"\n"
        try:
            self._tell(line)
        except BrokenPipeError:  # somebody killed it: another one takes its place
            self.close()
            self._tell(line)

    def close(self) -> None:
        """Forget all groups, and exit."""
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.kill()
            shell.communicate()

    def _tell(self, line: bytes) -> None:
        if self._shell is None:
            # A session of its own: what ends our whole group (Ctrl-C, a closed terminal) must not end it first.
            shell = ("/bin/sh", "-c", _KEEP)
            self._shell = subprocess.Popen(shell, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - constant
        pipe = self._shell.stdin
        if pipe is not None:
            pipe.write(line)
            pipe.flush()
