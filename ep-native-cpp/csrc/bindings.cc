// The Python module: programs from descriptions, and runs over numpy arrays. No arithmetic here.
#define SX_IMPORT_NUMPY
#include "numpy_api.h"
#include "description.h"

#include <utility>

#include "engine/planner.h"
#include "kernels/isa.h"

namespace py = pybind11;

namespace sx {
namespace {

// numpy dtypes by DType, given by the Python side (bfloat16 is ml_dtypes's).
PyArray_Descr* g_descr[static_cast<int>(DType::count)] = {};
PyObject* g_error = nullptr;
PyObject* g_cancelled = nullptr;

// Whether a signal's handler of Python has raised, Ctrl-C's above all. The exception is then set.
bool python_interrupted() {
  py::gil_scoped_acquire locked;
  return PyErr_CheckSignals() != 0;
}

// NodeFailure(name of the node or "", reason, shapes of its inputs).
void raise_failure(const std::string& node, const char* what, const py::list& shapes) {
  PyErr_SetObject(g_error, py::make_tuple(node, what, shapes).ptr());
}

[[noreturn]] void raise_python() { throw py::error_already_set(); }

class Engine {
 public:
  Engine(py::list values, py::list ops, py::list inputs, py::list outputs, py::dict options, int threads) {
    program_ = std::make_unique<Program>(to_description(py::make_tuple(values, ops, inputs, outputs, options, threads), keep_));
  }

  py::object run(py::handle inputs) { return run_with(inputs, nullptr, nullptr); }

  // As run, until the byte of one of the bytearrays `flags` is set.
  py::object run_until(py::handle inputs, py::tuple flags) {
    const Cancel cancel = to_cancel(flags);
    return run_with(inputs, nullptr, &cancel);
  }

  py::object run_timed(py::handle inputs, py::tuple flags) {
    Times times;
    const Cancel cancel = to_cancel(flags);
    py::object outputs = run_with(inputs, &times, &cancel);
    py::list steps;
    for (auto& t : times.steps) steps.append(py::make_tuple(t.op, t.start_ns, t.end_ns, t.op < 0 ? py::list() : shapes_of(t.op, times)));
    return py::make_tuple(outputs, steps);
  }

  // Names, dtypes and dims (-1: free; None: any rank) of the feeds that run_feeds checks.
  void bind(py::list feeds) {
    feeds_.clear();
    for (auto item : feeds) {
      auto t = py::cast<py::tuple>(item);
      Feed f;
      f.name = py::reinterpret_borrow<py::object>(t[0]);
      f.descr = py::reinterpret_borrow<py::object>(t[1]);
      f.any_shape = t[2].is_none();
      if (!f.any_shape)
        for (auto d : py::cast<py::tuple>(t[2])) f.dims.push_back(d.is_none() ? -1 : py::cast<int64_t>(d));
      if (f.dims.size() > kMaxRank) throw std::invalid_argument("a feed of more than max_rank dimensions");
      feeds_.push_back(std::move(f));
    }
  }

  // Runs on a dict of feeds that are exactly as declared; None where they are not.
  py::object run_feeds(py::handle feeds) {
    const size_t n = feeds_.size();
    if (!PyDict_CheckExact(feeds.ptr()) || static_cast<size_t>(PyDict_GET_SIZE(feeds.ptr())) != n || n > kFew) return py::none();
    View views[kFew];
    for (size_t i = 0; i < n; i++) {
      const Feed& f = feeds_[i];
      PyObject* o = PyDict_GetItemWithError(feeds.ptr(), f.name.ptr());
      if (!o) {
        if (PyErr_Occurred()) PyErr_Clear();
        return py::none();
      }
      auto* a = reinterpret_cast<PyArrayObject*>(o);
      if (!PyArray_CheckExact(o) || reinterpret_cast<PyObject*>(PyArray_DESCR(a)) != f.descr.ptr() || !PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED))
        return py::none();
      const int rank = PyArray_NDIM(a);
      if (f.any_shape ? rank > kMaxRank : rank != static_cast<int>(f.dims.size())) return py::none();
      const npy_intp* dims = PyArray_DIMS(a);
      views[i].shape.rank = rank;
      for (int k = 0; k < rank; k++) {
        if (!f.any_shape && f.dims[k] >= 0 && f.dims[k] != dims[k]) return py::none();
        views[i].shape.d[k] = dims[k];
      }
      views[i].data = PyArray_DATA(a);
    }
    std::shared_ptr<Plan> plan = plan_for(views);
    return run_either(plan.get(), views, n, nullptr, nullptr);
  }

  // Plan for given input shapes now, so that the first run need not.
  void warm(std::vector<std::vector<int64_t>> shapes) {
    std::vector<View> views(shapes.size());
    for (size_t i = 0; i < shapes.size(); i++)
      for (int64_t d : shapes[i]) views[i].shape.push(d);
    py::gil_scoped_release unlocked;
    program_->warm(views.data());
  }

  // Bytes by kind, those of packed weights by buffer, which programs share, and the number of plans.
  py::dict memory() {
    Program::Memory m;
    {
      py::gil_scoped_release unlocked;
      program_->count(m);
    }
    py::dict packed, d;
    for (auto& b : m.packed) packed[py::int_(reinterpret_cast<uintptr_t>(b.first))] = b.second;
    d["packed"] = packed;
    d["arenas"] = m.arenas;
    d["plans"] = m.plans;
    return d;
  }

  void trim() {
    py::gil_scoped_release unlocked;
    program_->trim();
  }

  // Per output of an op, its shape in a run, or None where it has none.
  py::list shapes_of(int op, const Times& times) const {
    py::list shapes;
    for (ValueId v : program_->description().ops[op].out) {
      auto it = times.shapes.find(v);
      if (it == times.shapes.end()) {
        shapes.append(py::none());
        continue;
      }
      py::tuple dims(it->second.rank);
      for (int k = 0; k < it->second.rank; k++) dims[k] = it->second[k];
      shapes.append(dims);
    }
    return shapes;
  }

 private:
  struct Borrowed {
    PyObject* array = nullptr;  // an owned reference where the input had to be copied
    Borrowed() = default;
    Borrowed(Borrowed&& o) noexcept : array(std::exchange(o.array, nullptr)) {}
    ~Borrowed() { Py_XDECREF(array); }
  };

  static constexpr int kFew = 16;

  static Cancel to_cancel(const py::tuple& flags) {
    Cancel c;
    c.interrupted = python_interrupted;
    for (auto f : flags) {
      if (!PyByteArray_Check(f.ptr()) || PyByteArray_GET_SIZE(f.ptr()) < 1) throw std::invalid_argument("a flag is a bytearray of a byte");
      c.flags.push_back(reinterpret_cast<const volatile unsigned char*>(PyByteArray_AS_STRING(f.ptr())));
    }
    return c;
  }

  // Planning may call Python for constants, so it must not hold the interpreter lock while it waits for its own locks.
  std::shared_ptr<Plan> plan_for(const View* views) {
    if (program_->is_segmented()) return nullptr;
    if (auto plan = program_->latest(views)) return plan;
    py::gil_scoped_release unlocked;
    return program_->whole(views);
  }

  py::object run_with(py::handle inputs, Times* times, const Cancel* cancel) {
    const Description& d = program_->description();
    const size_t n = d.inputs.size();
    if (!PyList_Check(inputs.ptr()) || static_cast<size_t>(PyList_GET_SIZE(inputs.ptr())) != n) throw std::invalid_argument("inputs must be a list, one array per input");
    View few[kFew];
    std::vector<View> many;
    View* views = few;
    if (n > kFew) {
      many.resize(n);
      views = many.data();
    }
    std::vector<Borrowed> borrowed;
    for (size_t i = 0; i < n; i++) {
      PyObject* o = PyList_GET_ITEM(inputs.ptr(), i);
      const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
      if (!PyArray_Check(o) || !PyArray_CHKFLAGS(reinterpret_cast<PyArrayObject*>(o), flags)) {
        PyArray_Descr* descr = g_descr[static_cast<int>(d.values[d.inputs[i]].dtype)];
        Py_INCREF(descr);
        PyObject* copy = PyArray_FromAny(o, descr, 0, 0, flags, nullptr);
        if (!copy) raise_python();
        borrowed.emplace_back();
        borrowed.back().array = copy;
        o = copy;
      }
      auto* a = reinterpret_cast<PyArrayObject*>(o);
      views[i].data = PyArray_DATA(a);
      views[i].shape.rank = 0;
      const int rank = PyArray_NDIM(a);
      if (rank > kMaxRank) throw OpError(too_many_dimensions());
      views[i].shape.rank = rank;
      for (int k = 0; k < rank; k++) views[i].shape.d[k] = PyArray_DIM(a, k);
    }
    std::shared_ptr<Plan> plan = plan_for(views);
    return run_either(plan.get(), views, n, times, cancel);
  }

  // By a plan, or in segments where there is none. What takes long can be interrupted.
  py::object run_either(Plan* plan, const View* views, size_t n, Times* times, const Cancel* cancel) {
    if (plan && (cancel || plan->is_short())) return run_plan(*plan, views, n, times, cancel);
    const Cancel signals = to_cancel(py::tuple());
    if (!cancel) cancel = &signals;
    return plan ? run_plan(*plan, views, n, times, cancel) : run_segments(views, times, cancel);
  }

  py::object run_plan(Plan& plan, const View* views, size_t n, Times* times, const Cancel* cancel) {
    const Description& d = program_->description();
    const size_t m = plan.out.size();
    const void* in_few[kFew];
    void* out_few[kFew];
    std::vector<const void*> in_many;
    std::vector<void*> out_many;
    const void** in = in_few;
    void** out = out_few;
    if (n > kFew) {
      in_many.resize(n);
      in = in_many.data();
    }
    if (m > kFew) {
      out_many.resize(m);
      out = out_many.data();
    }
    for (size_t i = 0; i < n; i++) in[i] = views[i].data;
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(m));
    if (!list) raise_python();
    py::object result = py::reinterpret_steal<py::object>(list);
    for (size_t j = 0; j < m; j++) {
      PyObject* a = empty(plan.out_shapes[j], d.values[plan.out[j]].dtype);
      if (!a && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        throw program_->no_room(plan, j);
      }
      if (!a) raise_python();
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(j), a);
      out[j] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(a));
    }
    if (!plan.is_short()) {
      py::gil_scoped_release unlocked;
      program_->execute(plan, in, out, program_->pool(), times, cancel);
      return result;
    }
    program_->execute(plan, in, out, program_->pool(), times, cancel);
    return result;
  }

  py::object run_segments(const View* views, Times* times, const Cancel* cancel) {
    std::vector<Made> made;
    {
      py::gil_scoped_release unlocked;
      made = program_->run_segments(views, times, cancel);
    }
    py::list result;
    for (auto& m : made) {
      npy_intp dims[kMaxRank];
      for (int k = 0; k < m.shape.rank; k++) dims[k] = m.shape[k];
      PyArray_Descr* descr = g_descr[static_cast<int>(m.dtype)];
      Py_INCREF(descr);
      PyObject* a = PyArray_NewFromDescr(&PyArray_Type, descr, m.shape.rank, dims, nullptr, m.data->data, NPY_ARRAY_CARRAY, nullptr);
      if (!a) raise_python();
      py::capsule owner(new std::shared_ptr<Buffer>(m.data), [](void* p) { delete static_cast<std::shared_ptr<Buffer>*>(p); });
      PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(a), owner.release().ptr());
      result.append(py::reinterpret_steal<py::object>(a));
    }
    return std::move(result);
  }

  // An array, or null with Python's exception.
  static PyObject* empty(const Shape& shape, DType dtype) {
    npy_intp dims[kMaxRank];
    for (int k = 0; k < shape.rank; k++) dims[k] = shape[k];
    PyArray_Descr* descr = g_descr[static_cast<int>(dtype)];
    Py_INCREF(descr);
    return PyArray_Empty(shape.rank, dims, descr, 0);
  }

  struct Feed {
    py::object name, descr;
    bool any_shape = false;
    std::vector<int64_t> dims;
  };

  std::unique_ptr<Program> program_;
  std::vector<py::object> keep_;
  std::vector<Feed> feeds_;
};

bool import_numpy() {
  import_array1(false);
  return true;
}

}  // namespace
}  // namespace sx

PYBIND11_MODULE(_native, m) {
  using namespace sx;
  if (!import_numpy()) throw py::error_already_set();
  g_error = PyErr_NewException("sardonyx_ep_native._native.NodeFailure", PyExc_RuntimeError, nullptr);
  m.attr("NodeFailure") = py::handle(g_error);
  g_cancelled = PyErr_NewException("sardonyx_ep_native._native.RunStopped", PyExc_RuntimeError, nullptr);
  m.attr("RunStopped") = py::handle(g_cancelled);
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const NodeFailure& e) {
      py::list shapes;
      for (const Shape& s : e.inputs) shapes.append(s.rank < 0 ? py::object(py::none()) : py::object(py::tuple(py::cast(std::vector<int64_t>(s.d, s.d + s.rank)))));
      raise_failure(e.node, e.what(), shapes);
    } catch (const OpError& e) {
      raise_failure("", e.what(), py::list());
    } catch (const Cancelled&) {
      if (!PyErr_Occurred()) PyErr_SetString(g_cancelled, "the run was cancelled");
    } catch (const std::length_error& e) {
      raise_failure("", e.what(), py::list());
    }
  });
  m.def("set_dtypes", [](py::list dtypes) {
    for (size_t i = 0; i < dtypes.size(); i++) {
      if (!PyArray_DescrCheck(dtypes[i].ptr())) throw std::invalid_argument("set_dtypes takes numpy dtypes");
      g_descr[i] = reinterpret_cast<PyArray_Descr*>(py::object(dtypes[i]).release().ptr());
    }
  });
  m.attr("max_rank") = kMaxRank;
  m.def("set_free_memory", [](py::object function) {
    static PyObject* held = nullptr;  // lives as long as the process, as the module does
    Py_XDECREF(std::exchange(held, function.release().ptr()));
    free_memory = [] {
      py::gil_scoped_acquire locked;
      const py::object bytes = py::handle(held)();
      return bytes.is_none() ? INT64_MAX : py::cast<int64_t>(bytes);
    };
  });
  m.def("operators", [] { return all_ops(); });
  m.def("isa", [] { return std::string(isa_name(current_isa())); });
  m.def("set_isa", [](const std::string& name) { set_isa(parse_isa(name.c_str())); });
  py::class_<Engine>(m, "Program")
      .def(py::init<py::list, py::list, py::list, py::list, py::dict, int>())
      .def("run", &Engine::run)
      .def("warm", &Engine::warm)
      .def("bind", &Engine::bind)
      .def("run_feeds", &Engine::run_feeds)
      .def("run_until", &Engine::run_until)
      .def("run_timed", &Engine::run_timed)
      .def("memory", &Engine::memory)
      .def("trim", &Engine::trim);
}
