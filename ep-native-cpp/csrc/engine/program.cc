#include "engine/program.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <new>

namespace sx {

std::shared_ptr<Plan> make_plan(Program& program, int begin, const std::vector<View>& in);

std::string gibibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

Program::Program(Description d) : d_(std::move(d)), last_use_(d_.values.size(), -1) {
  // What nobody else can know is packed once for all plans of this program.
  static std::atomic<uint64_t> programs{0};
  const std::string own = "program " + std::to_string(programs++) + " ";
  for (size_t i = 0; i < d_.values.size(); i++)
    if (d_.values[i].constant && d_.values[i].identity.empty() && d_.values[i].shape.size() >= 4096) d_.values[i].identity = own + std::to_string(i);
  for (size_t i = 0; i < d_.ops.size(); i++)
    for (ValueId v : d_.ops[i].in)
      if (v != kAbsent) last_use_[v] = static_cast<int>(i);
  for (ValueId v : d_.outputs) last_use_[v] = INT_MAX;
}

// Values that flow into a segment that begins at `op`: given before it, read in it or later, constants left out.
const std::vector<ValueId>& Program::live_at(int op) {
  auto it = live_.find(op);
  if (it != live_.end()) return it->second;
  std::vector<ValueId> live;
  if (op == 0) {
    live = d_.inputs;
  } else {
    auto add = [&](ValueId v) {
      if (v != kAbsent && !d_.values[v].constant && last_use_[v] >= op && std::find(live.begin(), live.end(), v) == live.end()) live.push_back(v);
    };
    for (ValueId v : d_.inputs) add(v);
    for (int i = 0; i < op; i++)
      for (ValueId v : d_.ops[i].out) add(v);
  }
  return live_[op] = live;
}

bool Program::matches(const Plan& p, const View* in) {
  for (size_t i = 0; i < p.in_shapes.size(); i++)
    if (p.in_shapes[i] != in[i].shape) return false;
  for (auto& c : p.in_contents)
    if (!c.second.empty() && std::memcmp(c.second.data(), in[c.first].data, c.second.size()) != 0) return false;
  return true;
}

std::shared_ptr<Plan> Program::plan_for(int begin, const std::vector<View>& in) {
  const size_t limit = static_cast<size_t>(std::max<int64_t>(1, d_.option("plan_cache", 16)));
  auto& entries = cache_[begin];
  for (auto& e : entries)
    if (matches(*e.plan, in.data())) {
      e.used = ++tick_;
      return e.plan;
    }
  auto plan = make_plan(*this, begin, in);
  auto& again = cache_[begin];
  if (again.size() >= limit) again.erase(std::min_element(again.begin(), again.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; }));
  again.push_back({plan, ++tick_});
  limit_arenas();
  return plan;
}

// What plans that are forgotten asked for is not kept for the others.
void Program::limit_arenas() {
  size_t most = 0;
  for (auto& c : cache_)
    for (auto& e : c.second) most = std::max(most, e.plan->arena_bytes);
  arenas_.limit(most);
}

std::shared_ptr<Plan> Program::latest(const View* inputs) const {
  auto plan = std::atomic_load(&latest_);
  return plan && matches(*plan, inputs) ? plan : nullptr;
}

std::shared_ptr<Plan> Program::whole(const View* inputs) {
  if (is_segmented()) return nullptr;
  if (auto plan = latest(inputs)) return plan;
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<View> in(inputs, inputs + d_.inputs.size());
  auto plan = plan_for(0, in);
  if (plan->end != static_cast<int>(d_.ops.size())) {
    segmented_.store(true);
    return nullptr;
  }
  std::atomic_store(&latest_, plan);
  return plan;
}

void Program::warm(const View* inputs) {
  try {
    whole(inputs);
  } catch (const NeedData&) {
  }
}

void Program::execute(Plan& plan, const void* const* inputs, void* const* outputs, Pool& pool, Times* times, const Cancel* cancel) {
  try {
    plan.run(inputs, outputs, arenas_, pool, d_, times, cancel);
  } catch (const StepFailure& failed) {
    throw failure(plan, failed);
  }
}

NodeFailure Program::failure(const Plan& plan, const StepFailure& failed) const {
  Times known;
  plan.tell_shapes(d_, known);
  for (size_t i = 0; i < plan.in.size(); i++) known.shapes[plan.in[i]] = plan.in_shapes[i];
  std::vector<Shape> shapes;
  for (ValueId v : d_.ops[failed.op].in) shapes.push_back(v == kAbsent ? absent_shape() : d_.values[v].constant ? d_.values[v].shape : known.shapes[v]);
  return {d_.ops[failed.op], failed.what, shapes};
}

NodeFailure Program::no_room(const Plan& plan, size_t j) const {
  const ValueId v = plan.out[j];
  int op = plan.begin;
  for (int i = plan.begin; i < plan.end; i++)
    if (std::count(d_.ops[i].out.begin(), d_.ops[i].out.end(), v)) op = i;
  const size_t bytes = static_cast<size_t>(storage_size(plan.out_shapes[j], d_.values[v].layout)) * item_size(d_.values[v].dtype);
  return failure(plan, {op, "out of memory: no room for an output of shape " + plan.out_shapes[j].str() + ", " + gibibytes(bytes)});
}

std::shared_ptr<Buffer> Program::output_buffer(const Plan& plan, size_t j) const {
  const Value& value = d_.values[plan.out[j]];
  try {
    return std::make_shared<Buffer>(static_cast<size_t>(storage_size(plan.out_shapes[j], value.layout)) * item_size(value.dtype));
  } catch (const std::bad_alloc&) {
    throw no_room(plan, j);
  }
}

std::vector<Made> Program::run(const View* inputs, const Cancel* cancel) {
  auto plan = whole(inputs);
  if (!plan) return run_segments(inputs, nullptr, cancel);
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Made> made;
  for (size_t i = 0; i < d_.inputs.size(); i++) in.push_back(inputs[i].data);
  for (size_t j = 0; j < plan->out.size(); j++) {
    made.push_back({plan->out_shapes[j], d_.values[plan->out[j]].dtype, output_buffer(*plan, j)});
    out.push_back(made.back().data->data);
  }
  execute(*plan, in.data(), out.data(), pool(), nullptr, cancel);
  return made;
}

std::vector<Made> Program::run_segments(const View* inputs, Times* times, const Cancel* cancel) {
  struct Held {
    View view;
    std::shared_ptr<Buffer> buffer;
  };
  std::unordered_map<ValueId, Held> env;
  for (size_t i = 0; i < d_.inputs.size(); i++) env[d_.inputs[i]] = {inputs[i], nullptr};
  const int n = static_cast<int>(d_.ops.size());
  for (int at = 0; at < n;) {
    const Op& op = d_.ops[at];
    if (op.def->dynamic) {
      std::vector<Seen> seen;
      for (ValueId v : op.in) {
        if (v == kAbsent) {
          seen.push_back({Shape(), DType::f32, nullptr});
        } else if (d_.values[v].constant) {
          seen.push_back({d_.values[v].shape, d_.values[v].dtype, d_.values[v].data});
        } else {
          seen.push_back({env.at(v).view.shape, d_.values[v].dtype, env.at(v).view.data});
        }
      }
      Runtime rt;
      rt.pool = &pool();
      rt.threads = d_.threads;
      rt.cancel = cancel;
      if (cancel && cancel->wanted()) throw Cancelled{};
      std::vector<Made> made;
      const int64_t started = times ? now_ns() : 0;
      auto failure = [&](const std::string& what) {
        std::vector<Shape> shapes;
        for (size_t i = 0; i < op.in.size(); i++) shapes.push_back(op.in[i] == kAbsent ? absent_shape() : seen[i].shape);
        return NodeFailure(op, what, shapes);
      };
      try {
        made = op.def->dynamic(op, seen, rt);
      } catch (const NodeFailure& e) {
        throw NodeFailure(e, std::string(e.what()) + ", in the body of '" + op.name + "'");
      } catch (const OpError& e) {
        throw failure(e.what());
      } catch (const std::bad_alloc&) {
        throw failure("out of memory: no room for what it gives");
      }
      if (rt.error[0]) throw failure(rt.error);
      if (times) times->steps.push_back({at, started, now_ns()});
      for (size_t i = 0; i < op.out.size() && i < made.size(); i++) {
        if (op.out[i] == kAbsent) continue;
        if (times) times->shapes[op.out[i]] = made[i].shape;
        env[op.out[i]] = {{made[i].data->data, made[i].shape}, made[i].data};
      }
      at++;
      continue;
    }
    std::shared_ptr<Plan> plan;
    std::vector<View> in;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (ValueId v : live_at(at)) in.push_back(env.at(v).view);
      plan = plan_for(at, in);
    }
    std::vector<const void*> in_pointers;
    for (const View& v : in) in_pointers.push_back(v.data);
    std::vector<void*> out_pointers;
    std::vector<Held> out;
    for (size_t j = 0; j < plan->out.size(); j++) {
      auto buffer = output_buffer(*plan, j);
      out_pointers.push_back(buffer->data);
      out.push_back({{buffer->data, plan->out_shapes[j]}, buffer});
    }
    execute(*plan, in_pointers.data(), out_pointers.data(), pool(), times, cancel);
    std::unordered_map<ValueId, Held> next;
    for (size_t j = 0; j < plan->out.size(); j++) next[plan->out[j]] = out[j];
    env = std::move(next);
    at = plan->end;
  }
  std::vector<Made> result;
  for (ValueId v : d_.outputs) {
    const Value& value = d_.values[v];
    if (value.constant || !env.at(v).buffer) {
      const View view = value.constant ? View{value.data, value.shape} : env.at(v).view;
      const size_t bytes = static_cast<size_t>(view.shape.size()) * item_size(value.dtype);
      result.push_back({view.shape, value.dtype, copy_into(std::make_shared<Buffer>(bytes), view.data, bytes)});
    } else {
      result.push_back({env.at(v).view.shape, value.dtype, env.at(v).buffer});
    }
  }
  return result;
}

void Program::count(Memory& m) {
  m.arenas += arenas_.bytes();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& c : cache_)
      for (auto& e : c.second) {
        m.plans++;
        for (auto& b : e.plan->packed) m.packed[b.get()] = b->bytes;
      }
  }
  for (const Op& op : d_.ops)
    for (auto& body : op.bodies) body->count(m);
}

void Program::trim() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto kept = std::atomic_load(&latest_);
    for (auto& c : cache_) {
      auto& entries = c.second;
      if (entries.size() > 1) {
        auto last = std::max_element(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return a.plan != kept && (b.plan == kept || a.used < b.used); });
        entries = {*last};
      }
      for (auto& e : entries) e.plan->trim();
    }
    limit_arenas();
    arenas_.trim();
  }
  for (const Op& op : d_.ops)
    for (auto& body : op.bodies) body->trim();
}

}  // namespace sx
