"""The program of the processes that fill templates within a budget."""

from collections import OrderedDict

import msgspec

from schemas.crds import InvalidResource
from services.expressions.budget import LARGEST, serve, too_much_memory
from services.expressions.cel import NoValue
from services.expressions.evaluation import FailureReason
from services.expressions.evaluator import COSTLY, EvaluatorReply, FillRequest
from services.expressions.templates import TextTemplate, ValueTemplate

KEPT = 500_000
"""Characters of templates that are kept compiled, which take a hundred times as many bytes."""

CompiledFill = TextTemplate | ValueTemplate


class CompiledTemplates:
    """Compiled templates, the last used ones up to a limit."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[bytes, str, bool], CompiledFill] = OrderedDict()
        self._size = 0

    def get(self, written: bytes, where: str, *, is_text: bool) -> CompiledFill:
        """The compiled template. Raises InvalidResource."""
        key = written, where, is_text
        if (known := self._known.get(key)) is not None:
            self._known.move_to_end(key)
            return known
        value = msgspec.msgpack.decode(written)
        known = self._known[key] = TextTemplate(value, where) if is_text else ValueTemplate(value, where)
        self._size += len(written)
        while self._size > KEPT and len(self._known) > 1:
            (first, *_), _ = self._known.popitem(last=False)
            self._size -= len(first)
        return known


def answer(data: bytes, templates: CompiledTemplates) -> bytes:
    """The encoded reply to an encoded request."""
    request = msgspec.msgpack.decode(data, type=FillRequest)
    try:
        reply = msgspec.msgpack.encode(_reply(request, templates))
    except MemoryError:
        return _refused(f"{request.where}: {too_much_memory(COSTLY)}")
    if len(reply) > LARGEST:
        return _refused(f"{request.where} becomes {len(reply)} bytes: at most {LARGEST} are taken")
    return reply


def _reply(request: FillRequest, templates: CompiledTemplates) -> EvaluatorReply:
    try:
        template = templates.get(bytes(request.written), request.where, is_text=request.is_text)
        return EvaluatorReply(None if request.variables is None else template.fill(request.variables))
    except InvalidResource as why:
        return EvaluatorReply(failure=(FailureReason.INVALID, str(why)))
    except NoValue as why:
        return EvaluatorReply(failure=(FailureReason.NO_VALUE, str(why)))


def _refused(why: str) -> bytes:
    return msgspec.msgpack.encode(EvaluatorReply(failure=(FailureReason.TOO_COSTLY, why)))


def main() -> None:
    """Serve until the service closes the pipe."""
    templates = CompiledTemplates()
    first = FillRequest(msgspec.Raw(msgspec.msgpack.encode("{{ x | to_yaml }}")), "", is_text=True, variables={"x": 1})
    answer(msgspec.msgpack.encode(first), templates)
    serve(lambda data: answer(data, templates))


if __name__ == "__main__":
    main()
