import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)
B, TIME, Q_HEADS, KV_HEADS, KEY, VALUE = 2, 6, 4, 2, 8, 5


def run(*inputs, domain="", **attributes):
    return kernels.find(domain, "LinearAttention", 99).function(np, *inputs, **attributes)


def normal(*shape, dtype=np.float32):
    return (RNG.standard_normal(shape) * 0.4).astype(dtype)


def exact(q, k, v, state, decay, beta, q_heads, kv_heads):
    """The recurrence of one head after another: output and the states after every token."""
    batch, time, _ = q.shape
    q, k, v = (x.astype(float).reshape(batch, time, h, -1) for x, h in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    out = np.zeros((batch, time, q_heads, v.shape[3]))
    states = np.zeros((time, batch, kv_heads, k.shape[3], v.shape[3]))
    for b, h in np.ndindex(batch, kv_heads):
        s = state[b, h].astype(float)
        for t in range(time):
            if decay is not None:
                s = np.exp(decay.astype(float).reshape(batch, time, kv_heads, -1)[b, t, h])[:, None] * s
            new = v[b, t, h]
            if beta is not None:
                new = np.broadcast_to(beta.astype(float), (batch, time, kv_heads))[b, t, h] * (new - s.T @ k[b, t, h])
            s = s + np.outer(k[b, t, h], new)
            states[t, b, h] = s
            group = q_heads // kv_heads
            for g in range(h * group, (h + 1) * group):
                out[b, t, g] = s.T @ q[b, t, g] / np.sqrt(q.shape[3])
    return out.reshape(batch, time, -1), states


def inputs_for(rule, decay_size, beta_size, dtype=np.float32):
    decay = -np.abs(normal(B, TIME, decay_size, dtype=dtype)) if "gated" in rule else None
    beta = np.abs(normal(B, TIME, beta_size, dtype=dtype)) if "delta" in rule else None
    return (
        normal(B, TIME, Q_HEADS * KEY, dtype=dtype),
        normal(B, TIME, KV_HEADS * KEY, dtype=dtype),
        normal(B, TIME, KV_HEADS * VALUE, dtype=dtype),
        normal(B, KV_HEADS, KEY, VALUE, dtype=dtype),
        decay,
        beta,
    )


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize(("decay_size", "beta_size"), [(KV_HEADS, 1), (KV_HEADS * KEY, KV_HEADS)])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)])
def test_rules(rule, decay_size, beta_size, dtype, rtol):
    inputs = inputs_for(rule, decay_size, beta_size, dtype)
    attributes = {"q_num_heads": Q_HEADS, "kv_num_heads": KV_HEADS, "update_rule": rule}
    right, states = exact(*inputs, Q_HEADS, KV_HEADS)
    for domain in ("", "com.microsoft"):
        output, state = run(*inputs, domain=domain, **attributes)
        assert output.dtype == state.dtype == dtype
        np.testing.assert_allclose(output.astype(float), right, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(state.astype(float), states[-1], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("window", [1, 3, 8])
def test_window_of_states(window):
    inputs = list(inputs_for("gated_delta", KV_HEADS, KV_HEADS))
    right, states = exact(*inputs, Q_HEADS, KV_HEADS)
    inputs[3] = np.concatenate((np.full((window - 1, *inputs[3].shape), np.nan, np.float32), inputs[3][None]))
    attributes = {"q_num_heads": Q_HEADS, "kv_num_heads": KV_HEADS, "state_window": window}
    output, state = run(*inputs, domain="com.microsoft", **attributes)
    np.testing.assert_allclose(output, right, rtol=1e-5, atol=1e-6)
    kept = min(window, TIME)
    np.testing.assert_allclose(state[window - kept :], states[TIME - kept :], rtol=1e-5, atol=1e-6)
    assert not state[: window - kept].any()


def test_more_key_value_heads_than_query_heads():
    q, k, v = normal(B, TIME, 2 * KEY), normal(B, TIME, 4 * KEY), normal(B, TIME, 4 * VALUE)
    output, _ = run(q, k, v, domain="com.microsoft", q_num_heads=2, kv_num_heads=4, update_rule="linear")
    doubled = np.repeat(q.reshape(B, TIME, 2, KEY), 2, axis=2).reshape(B, TIME, -1)
    right, _ = exact(doubled, k, v, np.zeros((B, 4, KEY, VALUE)), None, None, 4, 4)
    np.testing.assert_allclose(output, right, rtol=1e-5, atol=1e-6)


def test_errors():
    q, k, v, state, decay, beta = inputs_for("gated_delta", KV_HEADS, 1)
    attributes = {"q_num_heads": Q_HEADS, "kv_num_heads": KV_HEADS}
    for inputs, changed, message in (
        ((q, k, v, state, decay), {}, "needs the input beta"),
        ((q, k, v, state, decay, beta), {"update_rule": "delta"}, "forbids the input decay"),
        ((q, k, v, state, decay, beta), {"update_rule": "sum"}, "update_rule is"),
        ((q, k, v, state[:, :1], decay, beta), {}, "past_state has shape"),
        ((q, k, v, state, decay, beta), {"q_num_heads": 3}, "no multiple"),
        ((q[..., 1:], k, v, state, decay, beta), {}, "split into 4 heads"),
    ):
        with pytest.raises(NodeError, match=message):
            run(*inputs, **{**attributes, **changed})
