"""gast, as every module of the package imports it.

Its node classes are made when it is imported, so type checkers do not know them; here it is declared to be anything.
"""
from __future__ import annotations

from typing import Any

import gast as _gast

gast: Any = _gast
