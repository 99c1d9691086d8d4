// From what the Python side says of a subgraph (sardonyx_ep_native/describe.py) to a Description.
#pragma once
#include <vector>

#include "engine/program.h"
#include "numpy_api.h"

namespace sx {

// (values, ops, input ids, output ids, options, threads). `keep` receives the arrays whose bytes the description points to.
Description to_description(pybind11::handle h, std::vector<pybind11::object>& keep);

}  // namespace sx
