"""Services import what is said on every start, so that has to be cheap."""

import pkgutil
import subprocess
import sys

import schemas

FOR_PEOPLE = {"crds", "generate", "__main__"}


def test_what_is_said_on_the_bus_needs_no_pydantic():
    names = sorted(found.name for found in pkgutil.iter_modules(schemas.__path__) if found.name not in FOR_PEOPLE)
    program = f"import sys, {', '.join(f'schemas.{name}' for name in names)}\nsys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
