"""Loops within loops are counted as CEL reads them, and not as they look."""

import pytest

from schemas.crds import InvalidResource
from services.expressions.cel import DEEPEST, CompiledExpression
from services.expressions.cost import shape_of

COUNTED = {
    "data.x == 1": 0,
    "data.all(x, x > 0)": 1,
    "data.all(x, x > 0) && data.exists(y, y > 0)": 1,
    "data . map (x, x)": 1,
    "data.map // a comment (\n (x, x.filter(y, y))": 2,
    "data.a.all(x, x.b.exists(y, y.c.map(z, z)))": 3,
    "data.map(x, (size([x])))": 1,
    "'.all(.all(' + \"\\\".all(\" + r'\\' + b'.map('": 0,
    "'''it's .all(''' + data.all(x, true)": 1,
    "all(x, all(y, true))": 2,
    r'''"""\"""" == "q" || a.all(x, x.all(y, true)) || "" == ""''': 2,
    r"""b'''\'''' == b'q' || a.all(x, x.all(y, true)) || '' == ''""": 2,
    r'''"""\\""" == "q" || a.all(x, x.all(y, true)) || "" == ""''': 2,
    r'''r"""\""" == "q" || a.all(x, x.all(y, true)) || "" == ""''': 2,
    r'''"""".all(x, a.all(y, true))""" == ""''': 0,
    "all.x(exists.y(1))": 0,
}


@pytest.mark.parametrize(("text", "depth"), COUNTED.items(), ids=COUNTED)
def test_the_depth_of_loops_is_read_off_the_text(text, depth):
    assert shape_of(text).depth == depth


def test_an_expression_that_nests_loops_too_deep_is_refused_with_its_place_and_the_bound():
    text = "true"
    for level in range(20):
        text = f"[0,1,2,3,4,5,6,7,8,9].all(v{level}, {text})"
    with pytest.raises(InvalidResource, match=rf"^spec\.when nests 20 loops .*: must nest at most {DEEPEST}$"):
        CompiledExpression(text, "spec.when")


@pytest.mark.parametrize("text", COUNTED, ids=COUNTED)
def test_what_is_counted_is_what_the_language_reads(text):
    CompiledExpression(text, "spec.when")
