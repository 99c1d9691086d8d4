#include "ops/elementwise_map.h"

#include <algorithm>

namespace sx {

void direct_step(const void* args, Runtime&) {
  auto& d = *static_cast<const DirectArgs*>(args);
  d.run(d.out, d.a, d.b, d.c, d.n, d.p);
}

void direct_parallel_step(const void* args, Runtime& rt) {
  auto& d = *static_cast<const DirectArgs*>(args);
  rt.pool->parallel((d.n + d.chunk - 1) / d.chunk, [&d](int64_t i) {
    const int64_t at = i * d.chunk;
    auto move = [at](const void* p, int32_t size) { return p ? static_cast<const char*>(p) + at * size : nullptr; };
    d.run(static_cast<char*>(d.out) + at * d.size_out, move(d.a, d.size_a), move(d.b, d.size_b), move(d.c, d.size_c), std::min(d.chunk, d.n - at), d.p);
  });
}

namespace {

template <typename T>
void fill(char* to, const char* from, int64_t n) {
  T value;
  std::memcpy(&value, from, sizeof value);
  std::fill_n(reinterpret_cast<T*>(to), n, value);
}

void repeat(char* to, const char* from, int64_t n, int32_t size) {
  switch (size) {
    case 1: return fill<uint8_t>(to, from, n);
    case 2: return fill<uint16_t>(to, from, n);
    case 4: return fill<uint32_t>(to, from, n);
    default: return fill<uint64_t>(to, from, n);
  }
}

// One row of `cols` elements at `from`, `rows` times.
void tile(char* to, int64_t rows, int64_t bytes) {
  for (int64_t done = 1; done < rows; done *= 2) std::memcpy(to + done * bytes, to, static_cast<size_t>(std::min(done, rows - done) * bytes));
}

struct Walk {
  const MapHead& m;
  const MapInput* in;
  const MapCode* code;
  char* slots;
  const char* base[kMaxInputs];       // of the plane
  const char* ready[kMaxInputs];      // the base of what lies in the slot of a number or period
  const void* value[kMaxInputs + kMaxCode];

  Walk(const MapHead& head, char* memory) : m(head), slots(memory) {
    in = reinterpret_cast<const MapInput*>(reinterpret_cast<const char*>(&m) + m.inputs_at);
    code = reinterpret_cast<const MapCode*>(reinterpret_cast<const char*>(&m) + m.code_at);
    for (int k = 0; k < m.inputs; k++) ready[k] = nullptr;
    for (int k = 0; k < m.code; k++) value[m.inputs + k] = code[k].slot < 0 ? nullptr : slot(code[k].slot);
  }

  char* slot(int i) const { return slots + static_cast<int64_t>(i) * m.slot_bytes; }
  int64_t block_elements() const { return m.rows > 1 ? std::min(m.block, m.rows) * m.cols : std::min(m.block, m.cols); }

  void plane(int64_t index) {
    for (int k = 0; k < m.inputs; k++) base[k] = in[k].data;
    for (int d = m.outer - 1; d >= 0; d--) {
      const int64_t i = index % m.dims[d];
      index /= m.dims[d];
      for (int k = 0; k < m.inputs; k++) base[k] += i * in[k].outer[d];
    }
    for (int k = 0; k < m.inputs; k++)
      if (in[k].kind == MapInput::number || in[k].kind == MapInput::period) constant(k);
  }

  // What is the same for every block of the plane.
  void constant(int k) {
    const MapInput& i = in[k];
    value[k] = base[k];
    if (i.slot < 0 || ready[k] == base[k]) {
      if (i.slot >= 0) value[k] = slot(i.slot);
      return;
    }
    char* to = slot(i.slot);
    const int64_t row = i.kind == MapInput::number ? 1 : m.cols;
    if (i.convert)
      i.convert(to, base[k], nullptr, nullptr, row, nullptr);
    else
      std::memcpy(to, base[k], static_cast<size_t>(row * i.size));
    if (i.kind == MapInput::number)
      repeat(to, to, block_elements(), i.wide);
    else
      tile(to, block_elements() / m.cols, row * i.wide);
    ready[k] = base[k];
    value[k] = to;
  }

  // What changes from block to block: `first` is the block's first row, or column.
  void bring(int k, int64_t first, int64_t count, int64_t n) {
    const MapInput& i = in[k];
    const char* from = base[k];
    if (i.kind == MapInput::run) {
      from += (m.rows > 1 ? first * m.cols : first) * i.size;
    } else {
      char* to = slot(i.convert ? i.raw : i.slot);
      const int64_t bytes = m.cols * i.size;
      from += first * i.row * i.size;
      for (int64_t r = 0; r < count; r++, to += bytes, from += i.row * i.size) {
        if (i.col)
          std::memcpy(to, from, static_cast<size_t>(bytes));
        else
          repeat(to, from, m.cols, i.size);
      }
      from = slot(i.convert ? i.raw : i.slot);
    }
    if (i.convert) {
      i.convert(slot(i.slot), from, nullptr, nullptr, n, nullptr);
      from = slot(i.slot);
    }
    value[k] = from;
  }

  void block(int64_t plane_index, int64_t index) {
    const int64_t first = index * m.block, length = m.rows > 1 ? m.rows : m.cols;
    const int64_t count = std::min(m.block, length - first), width = m.rows > 1 ? m.cols : 1, n = count * width;
    for (int k = 0; k < m.inputs; k++)
      if (in[k].kind == MapInput::run || in[k].kind == MapInput::other) bring(k, first, count, n);
    char* out = m.out + (plane_index * m.rows * m.cols + first * width) * m.out_size;
    for (int k = 0; k < m.code; k++) {
      const MapCode& c = code[k];
      auto operand = [&](int j) { return c.operand[j] < 0 ? nullptr : value[c.operand[j]]; };
      c.run(c.slot < 0 ? out : slot(c.slot), operand(0), operand(1), operand(2), n, c.p);
    }
  }

  void units(int64_t begin, int64_t end) {
    int64_t p = begin / m.blocks, b = begin % m.blocks;
    while (begin < end) {
      plane(p);
      for (; b < m.blocks && begin < end; b++, begin++) block(p, b);
      b = 0;
      p++;
    }
  }
};

}  // namespace

void map_step(const void* args, Runtime& rt) {
  auto& m = *static_cast<const MapHead*>(args);
  auto work = [&m](int64_t begin, int64_t end) {
    alignas(64) char memory[kSlotsBytes];
    Walk(m, memory).units(begin, end);
  };
  if (m.chunks <= 1) return work(0, m.units);
  rt.pool->parallel(m.chunks, [&](int64_t c) { work(m.units * c / m.chunks, m.units * (c + 1) / m.chunks); });
}

}  // namespace sx
