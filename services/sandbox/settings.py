"""The sandbox's settings, as one frozen model."""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.process.settings import BadSetting

PREFIX = "ALATE_SANDBOX_"


def _shared(name: str) -> AliasChoices:
    """Reads the sandbox's own variable, else the one that all services share."""
    return AliasChoices(f"{PREFIX}{name}", f"ALATE_{name}")


class SandboxSettings(BaseSettings):
    """Read from ``ALATE_SANDBOX_*`` once, at the start."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, env_ignore_empty=True, populate_by_name=True)

    port: int = Field(
        0,
        ge=0,
        le=65535,
        description="Port of the API on 127.0.0.1. 0: a free one, another at every start, so that kubeconfigs of "
        "founded clusters lead nowhere after a restart.",
    )
    state_dir: Path = Field(
        Path(".alate/sandbox"),
        description="Folder of the certificate and the secret tokens are made from. Lost: every kubeconfig is void.",
    )
    kubeconfig: Path = Field(
        Path(".alate/kubeconfig"),
        description="Where the management cluster's kubeconfig is written, for its owner alone to read.",
    )
    speed: float = Field(
        1.0,
        ge=0,
        description="How long simulated things take, times the pace of the demo: 0 no delays at all, 10 ten times as "
        "long.",
    )
    nats_url: str = Field(
        "nats://127.0.0.1:4222",
        validation_alias=_shared("NATS_URL"),
        description="The bus in whose JetStream every object is kept. Not there: the sandbox does not start.",
    )
    log_format: Literal["console", "json"] = Field("json", validation_alias=_shared("LOG_FORMAT"))
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", validation_alias=_shared("LOG_LEVEL"))


def load() -> SandboxSettings:
    """The settings of this process; `BadSetting` names the first variable that is wrong."""
    try:
        return SandboxSettings()
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        variable = name if name.isupper() else f"{PREFIX}{name.upper()}"
        raise BadSetting(f"{variable} is {first['input']!r}: {first['msg']}") from error
