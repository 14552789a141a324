"""Goldens: the emitted text of small functions, byte for byte, judged by eye and run.

A golden is a module with the user's function, why it is there, and below a line the pair that is emitted for it.
TRANSAD_UPDATE_GOLDEN=1 writes the present text.
"""
import ast
import copy
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import transad
from tests.fuzz.check import close
from tests.fuzz.differences import flat, gradient, leaves, unflat, weights
from transad.runtime import typed as helpers

MARK = "# ---- emitted\n"
GOLDENS = sorted((Path(__file__).parent / "golden").glob("*.py"))


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"golden_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(path):
    return path.read_text(encoding="utf-8").partition(MARK)


def emitted(module):
    return transad.differentiable(module.f, path="typed").source(*module.ARGS, wrt=list(range(len(module.ARGS))))


@pytest.mark.parametrize("path", GOLDENS, ids=[p.stem for p in GOLDENS])
def test_emitted_text_is_the_golden(path):
    user, mark, text = written(path)
    now = emitted(loaded(path))
    if os.environ.get("TRANSAD_UPDATE_GOLDEN"):
        path.write_text(user + mark + now, encoding="utf-8")
        text = now
    assert "def f_fwd(" in text
    assert now == text


@pytest.mark.parametrize("path", GOLDENS, ids=[p.stem for p in GOLDENS])
def test_golden_is_right(path):
    """The pair as it stands in the file, against differences."""
    module = loaded(path)
    space = {**vars(helpers), **vars(module), "np": np}
    exec(compile(written(path)[2], str(path), "exec"), space)
    given = leaves(copy.deepcopy(module.ARGS))
    found = space["f_fwd"](*given)
    value, saved = found
    result = module.f(*copy.deepcopy(module.ARGS))
    assert np.allclose(flat(value), flat(result), rtol=1e-13, atol=0)
    seeds = leaves(unflat(result, weights(result)))
    grads = space["f_rev"](saved, *seeds)
    close("the golden's gradient", *(lambda g, e: (g, flat(grads), e))(*gradient(module.f, module.ARGS)))


@pytest.mark.parametrize("path", GOLDENS, ids=[p.stem for p in GOLDENS])
def test_golden_says_why(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Why: ")
    ast.parse(text)
