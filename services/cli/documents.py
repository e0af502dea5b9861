"""What people write is read from a YAML file here, whichever kind it is."""

from pathlib import Path

import yaml

from events.kinds import COLONIES
from events.kube import Object
from schemas import documents as read
from services.bad import BadInput


def documents(file: Path, kind: str, api: str = COLONIES.api_version) -> list[Object]:
    """The objects of a kind in a file, in its order. Raises BadInput."""
    try:
        found = [each for each in read.documents(file.read_text()) if each is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read ({error}): name a file with a {kind} in it") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{file} is not YAML ({_where(error)}): must be a {kind}, as in the README") from error
    if not found:
        raise BadInput(f"{file} is empty: must hold a {kind}, as in the README")
    return [_of_kind(each, file, kind, api) for each in found]


def _of_kind(document: object, file: Path, kind: str, api: str) -> Object:
    if not isinstance(document, dict) or document.get("kind") != kind:
        other = document.get("kind") if isinstance(document, dict) else type(document).__name__
        raise BadInput(f"{file} holds a {other}: must be a {kind} (apiVersion {api})")
    if document.get("apiVersion") != api:
        raise BadInput(f"{file} holds a {kind} of apiVersion {document.get('apiVersion')}: must be of {api}")
    return document


def _where(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return " ".join(str(error).split())
