"""Remove what the sweeps compute for nobody: dead cotangents, empty loops, records that are not read.

The user's own statements stay in the forward sweep, also dead ones: they may raise.
"""
from __future__ import annotations

from transad.ir import Block, Do, Exit, For, If, Let, Move, Statement, Store, While, expressions, reads, walk
from transad.passes.reverse.sweeps import Pair
from transad.quote import names_in

# Calls that change what they are given.
_IMPURE = {"take_scattered"}


def prune(pair: Pair) -> Pair:
    """The pair without dead code."""
    roots = {n for e in pair.cotangents for n in names_in(e)}
    pair.reverse, _ = _live_block(pair.reverse, roots, keep_user=False)
    read = _free(pair.reverse) | roots
    pair.saved = [v for v in pair.saved if v in read]
    wanted = {n for e in pair.results for n in names_in(e)} | set(pair.saved)
    pair.forward, _ = _live_block(pair.forward, wanted, keep_user=True)
    return pair


def _free(block: Block) -> set[str]:
    """The names that a block reads."""
    return {n for s in walk(block) for n in reads(s)}


def _live_block(block: Block, after: set[str], keep_user: bool) -> tuple[Block, set[str]]:
    """The block without dead statements, and the names needed before it."""
    out: Block = []
    needed = set(after)
    for s in reversed(block):
        kept, needed = _live(s, needed, keep_user)
        if kept is not None:
            out.append(kept)
    out.reverse()
    return out, needed


def _live(s: Statement, needed: set[str], keep_user: bool) -> tuple[Statement | None, set[str]]:
    users = keep_user and bool(s.source)
    if isinstance(s, Let):
        impure = any(n in _IMPURE for n in names_in(s.value))
        if s.name not in needed and not impure and not users:
            return None, needed
        return s, (needed - {s.name}) | reads(s)
    if isinstance(s, Move):
        if not set(s.targets) & needed and not users:
            return None, needed
        return s, (needed - set(s.targets)) | set(s.sources)
    if isinstance(s, Store | Do | Exit):
        return s, needed | reads(s)
    if isinstance(s, If):
        then, a = _live_block(s.then, needed, keep_user)
        orelse, b = _live_block(s.orelse, needed, keep_user)
        if not then and not orelse:
            return None, needed
        return If(s.test, then, orelse, line=s.line, source=s.source), a | b | reads(s)
    assert isinstance(s, For | While)
    inside = set(needed) | (reads(s) if isinstance(s, While) else set())
    while True:
        body, before = _live_block(s.body, inside, keep_user)
        if before <= inside:
            break
        inside |= before
    if not body and isinstance(s, For) and not users:
        return None, needed
    made: Statement
    if isinstance(s, For):
        made = For(s.var, s.start, s.stop, s.step, body, line=s.line, source=s.source)
    else:
        made = While(s.test, body, line=s.line, source=s.source)
    return made, inside | needed | {n for e in expressions(s) for n in names_in(e)}
