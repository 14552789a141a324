"""The pair of sweeps that reverse mode makes of a program."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transad.ir import Block
from transad.kinds import Kind
from transad.quote import Node


@dataclass
class Pair:
    """The two sweeps in normal form (plain names), ready to print."""

    name: str
    parameters: list[str]
    forward: Block
    results: list[Node]
    saved: list[str]
    seeds: list[str]
    reverse: Block
    cotangents: list[Node]
    kinds: dict[str, Kind]
    constants: dict[str, Any] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    writes: bool = False
    taped: bool = False
