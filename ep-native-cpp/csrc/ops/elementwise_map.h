// Steps of elementwise programs.
//
// A direct step is one loop over whole operands. A mapped step walks planes [rows, cols] of the output block by block: for
// every block each operand is brought into one run of memory (most are so already), then the instructions run one after
// the other over buffers that stay in the first-level cache.
#pragma once
#include "engine/op.h"
#include "kernels/rows/args.h"

namespace sx {

struct DirectArgs {
  Loop run;
  void* out;
  const void *a, *b, *c;
  int64_t n;
  float p[2];
  int64_t chunk;           // elements that one thread takes at a time
  int32_t size_out, size_a, size_b, size_c;  // bytes per element; 0 for an operand that is a single number
};
void direct_step(const void* args, Runtime& rt);
void direct_parallel_step(const void* args, Runtime& rt);

struct MapInput {
  enum Kind : int32_t { run, number, period, other };
  const char* data;
  int64_t outer[kMaxRank];  // bytes per step of each outer dimension
  int64_t row, col;         // elements per row and column of the plane
  Loop convert;             // to the type that the instructions take, or null
  Kind kind;                // in a plane: contiguous; one number; one row repeated; anything else
  int32_t size, wide;       // bytes per element as stored, and as the instructions take it
  int32_t slot, raw;        // buffer where it is brought together, and the one before conversion; -1: none
};

struct MapCode {
  Loop run;
  int16_t operand[3];  // index of a value: inputs first, then results
  int16_t slot;        // buffer of the result, -1 for the output
  float p[2];
};

struct MapHead {
  char* out;
  int64_t units;               // blocks in all
  int64_t blocks;              // per plane
  int64_t rows, cols;          // of a plane
  int64_t block;               // rows per block, or columns where a plane is one row
  int64_t dims[kMaxRank];      // outer
  int32_t outer, inputs, code;
  int32_t slot_bytes, out_size, chunks;
  int32_t inputs_at, code_at;  // byte offsets of the arrays that follow
};

constexpr int64_t kSlotsBytes = 32768;
constexpr int kMaxInputs = 12, kMaxCode = 24;

template <int inputs, int code>
struct MapArgs {
  MapHead head;
  MapInput in[inputs];
  MapCode run[code];
};
void map_step(const void* args, Runtime& rt);

}  // namespace sx
