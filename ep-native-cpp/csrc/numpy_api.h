// pybind11 and numpy's C API, one table of it for the whole module; bindings.cc fills it in.
#pragma once
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL sardonyx_native_numpy
#ifndef SX_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
// numpy after pybind11: pybind11 sets Python.h up.
#include <numpy/arrayobject.h>
