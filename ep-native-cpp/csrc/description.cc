#include "description.h"

namespace py = pybind11;

namespace sx {
namespace {

// The array that a Python function makes, as long as what is returned lives. Called without the interpreter lock or with it.
std::shared_ptr<const void> read_array(const py::object& function, const void** data) {
  py::gil_scoped_acquire locked;
  try {
    py::object array = function();
    auto* a = reinterpret_cast<PyArrayObject*>(array.ptr());
    if (!PyArray_Check(array.ptr()) || !PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED)) throw OpError("a constant must be a contiguous, aligned array");
    *data = PyArray_DATA(a);
    return std::shared_ptr<const void>(array.release().ptr(), [](const void* p) {
      py::gil_scoped_acquire locked_again;
      Py_DECREF(static_cast<PyObject*>(const_cast<void*>(p)));
    });
  } catch (py::error_already_set& e) {
    throw OpError(std::string("a constant cannot be read: ") + e.what());
  }
}

// A string attribute's bytes, which need not be UTF-8.
std::string to_bytes(py::handle text) {
  auto bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes) throw py::error_already_set();
  return py::cast<std::string>(bytes);
}

// Python side's tuple for one value: (name, dtype index, layout, array or (function that makes it, shape) or None, identity,
// mapped).
Value to_value(py::handle h, std::vector<py::object>& keep) {
  auto t = py::cast<py::tuple>(h);
  Value v;
  v.name = py::cast<std::string>(t[0]);
  v.dtype = static_cast<DType>(py::cast<int>(t[1]));
  v.layout = py::cast<int>(t[2]) ? Layout::blocked : Layout::plain;
  if (py::isinstance<py::tuple>(t[3])) {
    auto made = py::cast<py::tuple>(t[3]);
    v.constant = true;
    for (auto d : py::cast<py::tuple>(made[1])) v.shape.push(py::cast<int64_t>(d));
    v.read = [function = py::object(made[0])](const void** data) { return read_array(function, data); };
  } else if (!t[3].is_none()) {
    auto* a = reinterpret_cast<PyArrayObject*>(t[3].ptr());
    if (!PyArray_Check(t[3].ptr()) || !PyArray_IS_C_CONTIGUOUS(a)) throw std::invalid_argument("a constant must be a contiguous array");
    v.constant = true;
    for (int i = 0; i < PyArray_NDIM(a); i++) v.shape.push(PyArray_DIM(a, i));
    v.data = PyArray_DATA(a);
    keep.push_back(py::reinterpret_borrow<py::object>(t[3]));
  }
  v.identity = py::cast<std::string>(t[4]);
  v.mapped = py::cast<bool>(t[5]);
  return v;
}

// (operator, node name, input ids, output ids, attributes, descriptions of its bodies)
Op to_op(py::handle h, std::vector<py::object>& keep) {
  auto t = py::cast<py::tuple>(h);
  Op op;
  const auto kind = py::cast<std::string>(t[0]);
  op.def = find_op(kind);
  if (!op.def) throw std::invalid_argument("the engine has no operator " + kind);
  op.name = py::cast<std::string>(t[1]);
  op.in = py::cast<std::vector<ValueId>>(t[2]);
  op.out = py::cast<std::vector<ValueId>>(t[3]);
  for (auto item : py::cast<py::dict>(t[4])) {
    const auto key = py::cast<std::string>(item.first);
    if (py::isinstance<py::bool_>(item.second) || py::isinstance<py::int_>(item.second)) {
      op.attrs.ints[key] = py::cast<int64_t>(item.second);
    } else if (py::isinstance<py::float_>(item.second)) {
      op.attrs.floats[key] = py::cast<double>(item.second);
    } else if (py::isinstance<py::str>(item.second)) {
      op.attrs.strings[key] = to_bytes(item.second);
    } else {
      auto list = py::cast<py::list>(item.second);
      if (!list.empty() && py::isinstance<py::str>(list[0])) {
        for (auto text : list) op.attrs.string_lists[key].push_back(to_bytes(text));
        continue;
      }
      bool floats = false;
      for (auto e : list) floats |= py::isinstance<py::float_>(e);
      if (floats)
        op.attrs.float_lists[key] = py::cast<std::vector<double>>(list);
      else
        op.attrs.int_lists[key] = py::cast<std::vector<int64_t>>(list);
    }
  }
  for (auto body : py::cast<py::list>(t[5])) op.bodies.push_back(std::make_shared<Program>(to_description(body, keep)));
  return op;
}

}  // namespace

Description to_description(py::handle h, std::vector<py::object>& keep) {
  auto t = py::cast<py::tuple>(h);
  Description d;
  for (auto v : py::cast<py::list>(t[0])) d.values.push_back(to_value(v, keep));
  for (auto o : py::cast<py::list>(t[1])) d.ops.push_back(to_op(o, keep));
  d.inputs = py::cast<std::vector<ValueId>>(t[2]);
  d.outputs = py::cast<std::vector<ValueId>>(t[3]);
  d.options = py::cast<std::map<std::string, int64_t>>(t[4]);
  d.threads = py::cast<int>(t[5]);
  return d;
}

}  // namespace sx
