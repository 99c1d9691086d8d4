"""ModelCompiler: an optimized model, written to a file, bytes or a stream."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sardonyx.errors import InvalidType
from sardonyx.ir.replacing import NewFile, make_way, new_file, refusing
from sardonyx.onnxruntime.enums import OrtCompileApiFlags
from sardonyx.onnxruntime.errors import Fail, InvalidArgument, raises, status
from sardonyx.onnxruntime.external_data import OrtExternalInitializerInfo, externalize_by, externalize_to
from sardonyx.onnxruntime.options import SessionOptions
from sardonyx.runtime import arguments, options
from sardonyx.runtime.checked_options import one_of
from sardonyx.runtime.options import LEVELS, GraphOptimizationLevel

__all__ = ["ModelCompiler", "OrtEpContextData", "OrtEpContextDataBuffer", "OrtExternalInitializerInfo"]


class OrtEpContextData:
    """Data of an EPContext node, for the function that writes it."""

    def __init__(self, data: bytes):
        self._data = data

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self._data)

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """A part of the data."""
        return self._data[offset : None if length is None else offset + length]


class OrtEpContextDataBuffer:
    """Room for data of an EPContext node, filled by the function that reads it: allocate(size), then write(data, offset)."""

    def __init__(self, max_size: int):
        self.max_size = max_size
        self.data: bytearray | None = None

    @property
    def size(self) -> int:
        """Bytes allocated."""
        return len(self.data or b"")

    @property
    def is_allocated(self) -> bool:
        """Whether allocate() was called."""
        return self.data is not None

    def allocate(self, size: int) -> None:
        """Make room, once. RuntimeError for too much or a second time."""
        if self.data is not None or not 0 <= size <= self.max_size:
            raise RuntimeError(f"{size} bytes cannot be allocated: allocate once, at most {self.max_size} bytes")
        self.data = bytearray(size)

    def write(self, data: Any, offset: int = 0) -> None:
        """Write bytes at a place. RuntimeError past the end."""
        view = memoryview(data).cast("B")
        if self.data is None or not 0 <= offset <= len(self.data) - len(view):
            raise RuntimeError(f"{len(view)} bytes at {offset} do not fit the {self.size} bytes allocated")
        self.data[offset : offset + len(view)] = view


class ModelCompiler:
    """Writes a model after the optimizations of a level (default: none).

    No provider of Sardonyx keeps its own form of a model in the file, so what is written are ONNX's operators, which any
    runtime loads. Weights of at least `external_initializers_size_threshold` bytes go to `external_initializers_file_path`, or
    where `get_initializer_location_func(name, value, where it was)` says (None: into the model).
    """

    def __init__(
        self,
        sess_options: SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = OrtCompileApiFlags.NONE,
        graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: Callable[..., Any] | None = None,
    ):
        if not isinstance(input_model_path_or_bytes, (str, os.PathLike, bytes)):
            raise InvalidType(f"Unable to load from type '{type(input_model_path_or_bytes)}': give a path or bytes")
        if not input_model_path_or_bytes:
            raise ValueError("the path or bytes of the model are empty")
        if external_initializers_file_path and get_initializer_location_func is not None:
            raise ValueError("give external_initializers_file_path or get_initializer_location_func, not both")
        external = external_initializers_file_path
        self._options = arguments.instance("sess_options", sess_options, options.SessionOptions, "a SessionOptions")
        self._source, self._flags = input_model_path_or_bytes, arguments.whole("flags", flags)
        self._external = None if external is None else arguments.path("external_initializers_file_path", external)
        self._threshold = arguments.whole("external_initializers_size_threshold", external_initializers_size_threshold, bits=64)
        self._level = one_of(GraphOptimizationLevel, "graph_optimization_level", graph_optimization_level)
        self._locate = get_initializer_location_func
        self._write_context: Callable[..., None] | None = None
        self._context: tuple[str, str] | None = None

    @raises()
    def _compiled(self, folder: str, path: str | None = None) -> bytes:
        """The bytes of the model, written to `path` too if one is given. The file of weights gets its place in `folder`, and
        never beside a model at `path` that it is not of."""
        from sardonyx.ir.load import load
        from sardonyx.ir.save import to_proto
        from sardonyx.passes import optimize
        from sardonyx.runtime.evaluate import evaluator

        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise status(Fail, "no provider of Sardonyx keeps compiled nodes in a file, so none was compiled")
        source: Any = self._source if isinstance(self._source, bytes) else os.path.abspath(os.fspath(self._source))
        model = load(source)
        level = LEVELS[int(self._level)]
        optimize(model.graph, "extended" if level == "all" else level, evaluate=evaluator([]))
        proto = to_proto(model)
        parts: dict[str, NewFile] = {}
        with refusing(path or folder), contextlib.ExitStack() as files:
            if self._external:
                beside = os.path.join(folder, self._external)
                parts[beside] = files.enter_context(new_file(os.path.realpath(beside)))
                externalize_to(proto, parts[beside].file, os.path.relpath(beside, folder), self._threshold)
            elif self._locate is not None:
                externalize_by(proto, self._locate)
            data: bytes = proto.SerializeToString()
            if path is not None:
                parts[path] = files.enter_context(new_file(os.path.realpath(path)))
                parts[path].file.write(data)
            make_way(*parts)
            for target, part in parts.items():
                part.place(os.path.realpath(target))
            return data

    @raises()
    def compile_to_file(self, output_model_path: str | os.PathLike[str] | None = None) -> None:
        """Write a file; its name is by default that of the model with _ctx before the suffix. InvalidArgument where there is
        no such name, Fail for a file that exists under ERROR_IF_OUTPUT_FILE_EXISTS."""
        if output_model_path is None:
            if isinstance(self._source, bytes):
                raise status(InvalidArgument, "a model given as bytes has no file name to derive one from: name the output file")
            source = Path(os.fspath(self._source))
            output_model_path = source.with_name(f"{source.stem}_ctx.onnx")
        path = arguments.path("output_model_path", output_model_path)
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and os.path.exists(path):
            raise status(Fail, f"the file {path} exists")
        self._compiled(os.path.dirname(os.path.abspath(path)), path)

    def compile_to_bytes(self) -> bytes:
        """The bytes of the model."""
        return self._compiled(os.getcwd())

    def compile_to_stream(self, write_function: Callable[[bytes], Any]) -> None:
        """Give the bytes of the model to a function."""
        write_function(self._compiled(os.getcwd()))

    def set_ep_context_data_write_func(self, write_func: Callable[..., None]) -> None:
        """Keep a function for external data of EPContext nodes, for providers that make such nodes."""
        self._write_context = write_func

    def clear_ep_context_data_write_func(self) -> None:
        """Forget that function."""
        self._write_context = None

    def set_ep_context_binary_information(self, output_directory: str | os.PathLike[str], model_name: str) -> None:
        """Keep the folder and name for files of providers that write some. InvalidArgument if one is empty."""
        if not os.fspath(output_directory) or not model_name:
            raise status(InvalidArgument, "give a folder and a name")
        self._context = (os.fspath(output_directory), model_name)
