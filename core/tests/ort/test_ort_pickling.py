"""Sessions that are pickled: by a subclass as onnxruntime's users do it, and by themselves."""

import pickle

import numpy as np

import sardonyx.onnxruntime

X = np.arange(6, dtype=np.float32).reshape(3, 2)
FEEDS = {"x": X, "y": X}
CPU = "CPUExecutionProvider"


def test_subclasses_may_add_pickling(ort, add, tmp_path):
    path = tmp_path / "add.onnx"
    path.write_bytes(add)

    class Pickled(ort.InferenceSession):
        def __init__(self, model_path, **kwargs):
            super().__init__(model_path, **kwargs)
            self.model_path = model_path

        def __getstate__(self):
            return {"model_path": self.model_path}

        def __setstate__(self, values):
            self.__init__(values["model_path"])

    s = Pickled(str(path), providers=[CPU])
    assert isinstance(s, ort.InferenceSession)
    again = Pickled.__new__(Pickled)
    again.__setstate__(s.__getstate__())
    np.testing.assert_array_equal(again.run(None, FEEDS)[0], X + X)


def test_sessions_of_sardonyx_pickle(add):
    again = pickle.loads(pickle.dumps(sardonyx.onnxruntime.InferenceSession(add)))
    np.testing.assert_array_equal(again.run(None, FEEDS)[0], X + X)
    assert again.get_providers() == [CPU]
