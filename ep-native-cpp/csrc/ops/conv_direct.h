// How a direct convolution's sum is laid out: planes of the input, runs of them, and bands of output tiles.
#pragma once
#include "ops/conv.h"

namespace sx {

// A plane to read: `offset` floats into a batch of a part, of depth slice `tap_d` of the window.
struct PlaneEntry {
  int32_t part, tap_d;
  int64_t offset;
};

// Channels [channel, channel + len) in plane `plane` from lane `lane` on; or, of a plain input, the `len` taps of a row.
struct RunEntry {
  int32_t plane, lane, len, tap_d;
  int64_t channel;
};

// Output tiles [tile, tile_end) that sum over runs [run, run_end); their packed weights begin at `w`.
struct BandEntry {
  int64_t tile, tile_end, run, run_end, w, tile_floats;
};

struct ConvMap {
  std::vector<PlaneEntry> planes;
  std::vector<RunEntry> runs;
  std::vector<BandEntry> bands;
  int64_t floats = 0;  // of packed weights
  bool plain = false;  // planes of one channel each, runs of taps
};

// The same in one buffer, for steps: this header, then the bands, planes and runs.
struct FlatMap {
  int64_t n_planes, n_runs, n_bands;
  const BandEntry* bands() const { return reinterpret_cast<const BandEntry*>(this + 1); }
  const PlaneEntry* planes() const { return reinterpret_cast<const PlaneEntry*>(bands() + n_bands); }
  const RunEntry* runs() const { return reinterpret_cast<const RunEntry*>(planes() + n_planes); }
};
std::shared_ptr<Buffer> flatten(const ConvMap& m);

struct PackConv {
  const float* w;  // OIHW (or OIDHW)
  float* out;
  int64_t oc, group_in, group_out, kh, kw, tile;
  bool plain;
  int64_t channels, shuffle;  // of X; see ConvProblem
  int64_t weights_out, weights_in;
  int64_t first, slice, row;  // floats in w before the first tap, from tap to tap along the depth, and along the height
};

ConvMap map_direct(const ConvProblem& c, const std::vector<int64_t>& part_channels, bool plain, int64_t tile);
void pack_direct(const PackConv& p, const FlatMap& map, int64_t band);

// The channels of each part of X, and what of a convolution packed weights depend on.
std::vector<int64_t> part_channels(PlanCtx& p, const ConvProblem& c);
std::string packed_key(const ConvProblem& c, const std::vector<int64_t>& part_channels);

// Leaves out the taps that meet nothing but padding, as those of a kernel dilated beyond the input do; how many were first.
int64_t leave_out_padding(Axis& a);

// The map of a convolution and its packed weights. Leaves taps out of `c`.
struct DirectWeights {
  ConvMap map;
  std::shared_ptr<Buffer> flat;
  Packed packed;
};
DirectWeights direct_weights(PlanCtx& p, ConvProblem& c, bool plain);

}  // namespace sx
