"""Measures how deep the loops of a CEL expression are nested: each level multiplies its cost."""

import re

DEEPEST = 3
"""Levels that are accepted: a list in a list in a list."""

_TOKEN = re.compile(
    r"""
      (?P<skip> //[^\n]*
              | [bB]?[rR] (?: \"{3}.*?\"{3} | '{3}.*?'{3} )
              | [bB]? (?: \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} ) )
    | (?P<raw>  [bB]?[rR][bB]? (?: "[^"\n]*" | '[^'\n]*' ) )
    | (?P<text> [bB]? (?: "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ) )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<sign> [()\[\]{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter", "transformList", "transformMap"})
"""The macros that loop, such as ``list.all(x, x > 0)``."""


def nested(expression: str) -> int:
    """The depth of nested loops; texts and comments do not count."""
    stack: list[bool] = []
    deepest, word = 0, ""
    for token in _TOKEN.finditer(expression):
        sign = token["sign"]
        if sign and sign in "([{":
            stack.append(sign == "(" and word in _LOOPS)
            deepest = max(deepest, sum(stack))
        elif sign and stack:
            stack.pop()
        if token.lastgroup != "skip":
            word = token["word"] or ""
    return deepest
