"""A key that is changed in its file is shown with the next connection, so that nobody restarts for a new one."""

from pathlib import Path

from events.errors import Denied
from events.jetstream.client_sockets import TryingClient
from events.jetstream.credentials import seed


class KeyedClient(TryingClient):
    """nats-py's client, which by itself reads the seed for every signature, but once only whose it is.

    What it takes over is private to nats-py; tests/events/jetstream/test_client.py changes keys of a real server.
    """

    def _connect_command(self) -> bytes:
        if self._nkeys_seed:
            try:
                seed(Path(self._nkeys_seed))
            except Denied as half:  # written just now, perhaps: nats-py goes on trying after what is the network's
                raise ConnectionError(half.message) from half
            self._setup_nkeys_seed_connect()
        return super()._connect_command()
