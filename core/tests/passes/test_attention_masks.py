"""Constant masks of Attention."""

from __future__ import annotations

import numpy as np
import pytest

H = "(float[N, 3, 5, 8] q, float[N, 3, 5, 8] k, float[N, 3, 5, 8] v) => (float[a, b, c, d] y) { "
LOW = np.finfo(np.float32).min
TRIL = np.tril(np.ones((1, 1, 5, 5), bool))
EMPTY = {
    "zeros": np.zeros((1, 1, 5, 5), np.float32),
    "true": np.ones((5, 5), bool),
    "zeros for all": np.zeros((1, 1, 1, 5), np.float32),
}
CAUSAL = {"bool": TRIL, "-inf": np.where(TRIL, 0, -np.inf).astype(np.float32), "lowest": np.where(TRIL, 0, LOW).astype(np.float32)}
OTHER = {
    "upper": TRIL.swapaxes(-1, -2),
    "shifted": np.tril(np.ones((5, 5), bool), 1),
    "mild": np.where(TRIL, 0, -5).astype(np.float32),
    "bias": np.ones((5, 5), np.float32),
    "short": np.zeros((5, 3), np.float32),
    "by head": np.broadcast_to(TRIL, (1, 3, 5, 5)).copy(),
}


@pytest.mark.parametrize("mask", EMPTY.values(), ids=EMPTY)
def test_mask_that_allows_everything_goes(check, mask):
    done = check(H + "y = Attention(q, k, v, m) }", m=mask)
    assert (len(done.nodes[0].inputs), done.nodes[0].attrs) == (3, {})


@pytest.mark.parametrize("mask", CAUSAL.values(), ids=CAUSAL)
def test_causal(check, mask):
    done = check(H + "y = Attention(q, k, v, m) }", m=mask)
    assert (len(done.nodes[0].inputs), done.nodes[0].attrs) == (3, {"is_causal": 1})


@pytest.mark.parametrize("mask", OTHER.values(), ids=OTHER)
def test_other_masks_stay(check, mask):
    assert len(check(H + "y = Attention(q, k, v, m) }", m=mask).nodes[0].inputs) == 4


@pytest.mark.parametrize(("condition", "attrs"), [(TRIL, {"is_causal": 1}), (TRIL | True, {})])
def test_mask_chosen_by_a_constant(check, condition, attrs):
    done = check(H + "m = Where(w, zero, low) y = Attention(q, k, v, m) }", w=condition, zero=np.float32(0), low=np.float32(LOW))
    assert done.ops == {"Attention": 1}
    assert done.nodes[0].attrs == attrs


PAST = """(float[1, 3, 1, 8] q, float[1, 3, 1, 8] k, float[1, 3, 1, 8] v, float[1, 3, P, 8] pk, float[1, 3, P, 8] pv)
    => (float[a, b, c, d] y, float[e, f, g, h] nk, float[i, j, l, n] nv) { y, nk, nv = Attention(q, k, v, m, pk, pv) }"""


@pytest.mark.parametrize(("past", "inputs"), [("4", [True, True, True, False, True, True]), ("P", [True] * 6)])
def test_mask_over_a_cache(check, past, inputs):
    done = check(PAST.replace("P", past), m=np.zeros((1, 5), np.float32), dims={"P": 4})
    assert [v is not None for v in done.nodes[0].inputs] == inputs


def test_causal_mask_over_a_cache_stays(check):
    text = PAST.replace("P", "4").replace("[1, 3, 1,", "[1, 3, 2,")
    assert done_inputs(check(text, m=np.tril(np.ones((2, 6), bool), 4))) == 6


def done_inputs(done):
    return len([v for v in done.nodes[0].inputs if v is not None])
