"""LinearAttention of ai.onnx and of com.microsoft: a recurrent state in the place of a key-value cache."""

from __future__ import annotations

import math
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()

# rule: (decays the state, corrects the value by what the state already gives for the key)
_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


@ops.add("LinearAttention", since=27)
def linear_attention(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    past_state: Any = None,
    decay: Any = None,
    beta: Any = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Any, Any]:
    """Attention through a state (batch, kv heads, key size, value size) that every token updates; (output, state).

    query, key and value are (batch, time, heads * size), decay (batch, time, kv heads) or (batch, time, kv heads * key
    size), beta (batch, time, kv heads or 1). Computed in float32. Raises NodeError for inputs that the rule lacks or forbids.
    """
    if q_num_heads % max(kv_num_heads, 1):
        raise NodeError(f"q_num_heads {q_num_heads} is no multiple of kv_num_heads {kv_num_heads}")
    state = None if past_state is None else widen(past_state)
    output, states = _recur(xp, query, key, value, state, decay, beta, q_num_heads, kv_num_heads, scale, update_rule, 1)
    return output, states[0].astype(query.dtype if past_state is None else past_state.dtype)


@ops.add("LinearAttention", domain="com.microsoft")
def linear_attention_microsoft(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    past_state: Any = None,
    decay: Any = None,
    beta: Any = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    state_window: int = 0,
    update_rule: str = "gated_delta",
) -> tuple[Any, Any]:
    """LinearAttention; with state_window > 0 the states are those after the last tokens, (window, batch, ...).

    There may also be more key-value heads than query heads.
    """
    state = past_state
    if state is not None:
        state = widen(state[-1] if state_window else state)
    output, states = _recur(xp, query, key, value, state, decay, beta, q_num_heads, kv_num_heads, scale, update_rule, max(state_window, 1))
    dtype = query.dtype if past_state is None else past_state.dtype
    if not state_window:
        return output, states[0].astype(dtype)
    window = xp.zeros((state_window, *states[0].shape), dtype)
    for slot, one in zip(range(state_window - len(states), state_window), states, strict=True):
        window[slot] = one
    return output, window


def _recur(
    xp: Any,
    query: Any,
    key: Any,
    value: Any,
    state: Any,
    decay: Any,
    beta: Any,
    q_heads: int,
    kv_heads: int,
    scale: float,
    rule: str,
    keep: int,
) -> tuple[Any, list[Any]]:
    """The output and the states after the last `keep` tokens (fewer if there are fewer; the initial one if there are none)."""
    if rule not in _RULES:
        raise NodeError(f"update_rule is {rule!r}, but must be one of {', '.join(_RULES)}")
    gated, corrected = _RULES[rule]
    for name, given, wanted in (("decay", decay is not None, gated), ("beta", beta is not None, corrected)):
        if given != wanted:
            raise NodeError(f"update_rule {rule!r} {'needs' if wanted else 'forbids'} the input {name}")
    q, k, v = _heads(query, q_heads), _heads(key, kv_heads), _heads(value, kv_heads)
    batch, time, _, key_size = q.shape
    if kv_heads > q_heads:
        q = xp.repeat(q, kv_heads // q_heads, axis=2)
    groups = q.shape[2] // kv_heads
    q = (q * (scale or 1.0 / math.sqrt(key_size))).reshape(batch, time, kv_heads, groups, key_size)
    shape = (batch, kv_heads, key_size, v.shape[3])
    if state is None:
        state = xp.zeros(shape, xp.float32)
    elif state.shape != shape:
        raise NodeError(f"past_state has shape {state.shape}, but must have {shape}")
    factor = xp.exp(_heads(decay, kv_heads))[..., None] if gated else None
    rate = widen(beta)[..., None] if corrected else None

    output = xp.empty((batch, time, kv_heads, groups, v.shape[3]), xp.float32)
    states = [state]
    for t in range(time):
        state = states[-1] if factor is None else states[-1] * factor[:, t]
        k_t, v_t = k[:, t], v[:, t]
        if rate is not None:
            v_t = rate[:, t] * (v_t - xp.matmul(k_t[:, :, None], state)[:, :, 0])
        state = state + k_t[..., None] * v_t[..., None, :]
        xp.matmul(q[:, t], state, out=output[:, t])
        states = [*states[1 - keep :], state] if keep > 1 else [state]
    return output.reshape(batch, time, -1).astype(query.dtype, copy=False), states[-time:] if time else states


def _heads(x: Any, heads: int) -> Any:
    """(batch, time, heads * size) as (batch, time, heads, size), float32."""
    if x.ndim != 3 or heads <= 0 or x.shape[2] % heads:
        raise NodeError(f"an input of shape {x.shape} cannot be split into {heads} heads")
    return widen(x).reshape(*x.shape[:2], heads, x.shape[2] // heads)
