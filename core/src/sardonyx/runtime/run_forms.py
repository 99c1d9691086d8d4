"""The other forms of a run: awaited, with a callback, with bound values and with OrtValues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sardonyx.runtime import arguments
from sardonyx.runtime.iobinding import IOBinding
from sardonyx.runtime.options import RunOptions
from sardonyx.runtime.ortvalue import OrtValue

__all__ = ["RunForms"]


class RunForms:
    """What every session makes of its `run`; the session has that, and `_run`, which stops where one of its last arguments is set."""

    run: Callable[..., list[Any]]
    _run: Callable[..., list[Any]]

    async def arun(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
        *,
        timeout: float | None = None,
    ) -> list[Any]:
        """As run(), in a thread of its own. If the task is cancelled, or `timeout` seconds pass (RunTimeout, which is also a
        TimeoutError), it returns at once, and the run ends before its next node."""
        from sardonyx.runtime.async_runs import run_coroutine

        return await run_coroutine(lambda flag: self._run(output_names, input_feed, run_options, flag), timeout)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], Any],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """As run(), in a thread of its own, which then calls callback(results, user_data, error); error is "" for success."""
        from sardonyx.runtime.async_runs import run_with_callback

        run_with_callback(lambda: self._run(output_names, input_feed, run_options), callback, user_data)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run with bound inputs; bound output buffers are filled, other bound outputs are made."""
        arguments.instance("iobinding", iobinding, IOBinding, "what io_binding() makes")
        iobinding.receive(self.run(list(iobinding.outputs) or None, iobinding.inputs, run_options))

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As run(), with OrtValues in and out."""
        given = arguments.instance("input_dict_ort_values", input_dict_ort_values, Mapping, "a dict of input name -> OrtValue")
        feeds = {name: arguments.instance(f"input {name!r}", v, OrtValue, "an OrtValue").numpy() for name, v in given.items()}
        return [OrtValue(v) for v in self.run(output_names, feeds, run_options)]
