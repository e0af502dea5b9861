"""Quantities as Kubernetes writes them are read as exact integers, so that no sum is ever rounded twice."""

import re
from functools import lru_cache

_FORM = re.compile(
    r"([+-]?)(?:([0-9]{1,40})(?:\.([0-9]{0,40}))?|\.([0-9]{1,40}))(?:([eE][+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?"
)
_BINARY: dict[str, int] = {f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""Powers of ten."""


class BadQuantity(ValueError):
    """What was written is no quantity; the message says what would be."""


@lru_cache(maxsize=8192)
def milli(quantity: str | float) -> int:
    """A quantity in thousandths: ``100m`` is 100, ``1Gi`` is 1073741824000, ``0.5`` and ``5e-1`` are 500.

    What is finer than a thousandth is rounded away from zero, as Kubernetes does. Raises BadQuantity.
    """
    found = _FORM.fullmatch(str(quantity))
    if found is None:
        raise BadQuantity(f"{str(quantity)[:80]!r} is no quantity: expected a number such as 500m, 2 or 1.5Gi")
    sign, whole, fraction, bare, exponent, unit = found.groups()
    decimals = fraction or bare or ""
    scaled = int((whole or "0") + decimals) * _BINARY.get(unit or "", 1)
    power = 3 - len(decimals) + (int(exponent[1:]) if exponent else _DECIMAL.get(unit or "", 0))
    scale = int("1" + "0" * abs(power))
    size = scaled * scale if power >= 0 else -(-scaled // scale)
    return -size if sign == "-" else size


def written(thousandths: int) -> str:
    """The shortest exact decimal of a number of thousandths: 1500 is ``1500m``, 2000 is ``2``."""
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
