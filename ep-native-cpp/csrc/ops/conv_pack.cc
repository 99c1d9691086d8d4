// Packing of convolution weights: [tile][run][kh][kw][len][tile channels].
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv_direct.h"

namespace sx {

namespace {

// Input channels that the output channels [o0, o1) see.
void channels_of(const ConvProblem& c, int64_t o0, int64_t o1, int64_t* from, int64_t* to) {
  *from = o0 / c.group_out() * c.group_in();
  *to = ((std::min(o1, c.oc) - 1) / c.group_out() + 1) * c.group_in();
}

}  // namespace

ConvMap map_direct(const ConvProblem& c, const std::vector<int64_t>& part_channels, bool plain, int64_t tile) {
  ConvMap m;
  m.plain = plain;
  const int64_t unit = plain ? 1 : kBlock, pixels = c.w.pixels_in();
  std::vector<int64_t> plane_channel, plane_len;
  int64_t channel = 0;
  for (size_t part = 0; part < part_channels.size(); part++)
    for (int64_t b = 0; b * unit < part_channels[part]; b++) {
      const int64_t len = std::min<int64_t>(unit, part_channels[part] - b * unit);
      for (int64_t d = 0; d < c.w.d.kernel; d++) {
        m.planes.push_back({static_cast<int32_t>(part), static_cast<int32_t>(d), b * unit * pixels});
        plane_channel.push_back(channel);
        plane_len.push_back(len);
      }
      channel += len;
    }
  const int64_t tiles = (c.oc + tile - 1) / tile;
  for (int64_t t = 0; t < tiles; t++) {
    int64_t from, to;
    channels_of(c, t * tile, (t + 1) * tile, &from, &to);
    if (t > 0 && c.group == 1) {
      m.bands[0].tile_end++;
      m.floats += m.bands[0].tile_floats;
      continue;
    }
    BandEntry band{t, t + 1, static_cast<int64_t>(m.runs.size()), 0, m.floats, 0};
    int64_t len = 0;
    for (size_t i = 0; i < m.planes.size(); i++) {
      // Stretches of the plane's channels that the tile sees: one, unless they are shuffled.
      const int64_t begin = plane_channel[i], end = begin + plane_len[i];
      auto seen = [&](int64_t channel) { return c.logical(channel) >= from && c.logical(channel) < to; };
      for (int64_t a = begin; a < end; a++) {
        if (!seen(a)) continue;
        int64_t b = a + 1;
        while (b < end && seen(b)) b++;
        const int64_t n = plain ? c.w.w.kernel : b - a;
        m.runs.push_back({static_cast<int32_t>(i), static_cast<int32_t>(a - begin), static_cast<int32_t>(n), m.planes[i].tap_d, a});
        len += n;
        a = b;
      }
    }
    band.run_end = static_cast<int64_t>(m.runs.size());
    band.tile_floats = len * c.w.h.kernel * (plain ? 1 : c.w.w.kernel) * tile;
    m.floats += band.tile_floats;
    m.bands.push_back(band);
  }
  return m;
}

std::shared_ptr<Buffer> flatten(const ConvMap& m) {
  const size_t bands = m.bands.size() * sizeof(BandEntry), planes = m.planes.size() * sizeof(PlaneEntry), runs = m.runs.size() * sizeof(RunEntry);
  auto buffer = std::make_shared<Buffer>(sizeof(FlatMap) + bands + planes + runs);
  char* to = static_cast<char*>(buffer->data);
  const FlatMap head{static_cast<int64_t>(m.planes.size()), static_cast<int64_t>(m.runs.size()), static_cast<int64_t>(m.bands.size())};
  std::memcpy(to, &head, sizeof head);
  std::copy(m.bands.begin(), m.bands.end(), reinterpret_cast<BandEntry*>(to + sizeof head));
  std::copy(m.planes.begin(), m.planes.end(), reinterpret_cast<PlaneEntry*>(to + sizeof head + bands));
  std::copy(m.runs.begin(), m.runs.end(), reinterpret_cast<RunEntry*>(to + sizeof head + bands + planes));
  return buffer;
}

namespace {

// The floats of a run that a tile's `n` outputs take, in the run's order: their weights begin at `from`, and the run's
// first channel follows `weights_in` floats before its second.
void transpose_run(const PackConv& p, const float* from, int64_t len, int64_t taps, int64_t n, float* to) {
  CopyNd c{};
  c.in = from;
  c.out = to;
  c.rank = 4;
  c.item = sizeof(float);
  c.stripes = 1;
  auto dim = [&c](int k, int64_t size, int64_t in, int64_t out) {
    c.dims[k] = size;
    c.in_strides[k] = in;
    c.out_strides[k] = out;
  };
  if (p.plain) {
    dim(0, 1, 0, 0);
    dim(1, taps, p.row, len * p.tile);
    dim(2, len, 1, p.tile);
  } else if (taps == 1) {
    dim(0, 1, 0, 0);
    dim(1, 1, 0, 0);
    dim(2, len, p.weights_in, p.tile);
  } else {
    const int64_t rows = p.row == p.kw ? 1 : p.kh;  // that do not follow each other
    dim(0, len, p.weights_in, p.tile);
    dim(1, rows, p.row, p.kw * len * p.tile);
    dim(2, taps / rows, 1, len * p.tile);
  }
  dim(3, n, p.weights_out, 1);
  c.kind = c.in_strides[2] == 1 ? CopyKind::transpose : CopyKind::elements;
  c.stripe = c.dims[2];
  kernels().copy_nd(c, 0, c.dims[0] * c.dims[1]);
}

// The same for any run: channels that are shuffled, or that not all of the tile's outputs see.
void gather_run(const PackConv& p, const RunEntry& run, int64_t row_taps, int64_t tile, float* out) {
  const int64_t each = p.channels / p.shuffle, row = run.len * p.tile;
  // The convolution's channel of each float of the run.
  int64_t channel[kBlock];
  for (int64_t l = 0; l < kBlock && l < run.len; l++) {
    const int64_t x = run.channel + (p.plain ? 0 : l);
    channel[l] = p.shuffle == 1 ? x : x % each * p.shuffle + x / each;
  }
  // The outputs of the tile by stretches of one group, so that the inner loop runs along the tile.
  const int64_t end = std::min(p.oc, (tile + 1) * p.tile);
  for (int64_t o = tile * p.tile; o < end;) {
    const int64_t group = o / p.group_out, next = std::min(end, (group + 1) * p.group_out), n = next - o;
    float* column = out + (o - tile * p.tile);
    for (int64_t l = 0; l < run.len; l++) {
      const int64_t c = channel[p.plain ? 0 : l] - group * p.group_in;
      const bool inside = c >= 0 && c < p.group_in;
      const float* w = p.w + p.first + o * p.weights_out + (inside ? c : 0) * p.weights_in + run.tap_d * p.slice + (p.plain ? l : 0);
      float* to = column + l * p.tile;
      for (int64_t a = 0; a < p.kh; a++)
        for (int64_t b = 0; b < row_taps; b++, to += row)
          for (int64_t j = 0; j < n; j++) to[j] = inside ? w[a * p.row + b + j * p.weights_out] : 0;
    }
    o = next;
  }
  for (int64_t j = end - tile * p.tile; j < p.tile; j++)
    for (int64_t i = 0; i < p.kh * row_taps * run.len; i++) out[i * p.tile + j] = 0;
}

}  // namespace

void pack_direct(const PackConv& p, const FlatMap& map, int64_t index) {
  const int64_t row_taps = p.plain ? 1 : p.kw, taps = p.kh * row_taps;
  const BandEntry& band = map.bands()[index];
  float* out = p.out + band.w;
  for (int64_t t = band.tile; t < band.tile_end; t++) {
    const int64_t o = t * p.tile, n = std::min(p.tile, p.oc - o), group = o / p.group_out, first = group * p.group_in;
    const bool together = p.shuffle == 1 && (o + n - 1) / p.group_out == group;
    for (int64_t r = band.run; r < band.run_end;) {
      RunEntry run = map.runs()[r++];
      // Runs of one tap each that follow each other are one long run.
      if (together && taps == 1 && !p.plain)
        for (; r < band.run_end && map.runs()[r].tap_d == run.tap_d && map.runs()[r].channel == run.channel + run.len; r++) run.len += map.runs()[r].len;
      const int64_t size = taps * run.len * p.tile, channel = run.channel - first;
      if (together && channel >= 0 && channel + (p.plain ? 1 : run.len) <= p.group_in) {
        if (n < p.tile) std::memset(out, 0, static_cast<size_t>(size) * sizeof(float));
        transpose_run(p, p.w + p.first + o * p.weights_out + channel * p.weights_in + run.tap_d * p.slice, run.len, taps, n, out);
      } else {
        gather_run(p, run, row_taps, t, out);
      }
      out += size;
    }
  }
}

namespace {

struct PackStep {
  PackConv pack;
  const FlatMap* map;
};

void pack_all(const PackConv& p, const FlatMap& map) {
  for (int64_t b = 0; b < map.n_bands; b++) pack_direct(p, map, b);
}
void pack_step(const void* args, Runtime&) {
  auto& a = *static_cast<const PackStep*>(args);
  pack_all(a.pack, *a.map);
}

}  // namespace

int64_t leave_out_padding(Axis& a) {
  int64_t first = 0;
  for (; a.kernel > 1 && (a.out - 1) * a.stride < a.begin; a.kernel--, first++) a.begin -= a.dilation;
  for (; a.kernel > 1 && a.reach() - a.begin >= a.in; a.kernel--) a.end -= a.dilation;
  return first;
}

std::vector<int64_t> part_channels(PlanCtx& p, const ConvProblem& c) {
  std::vector<int64_t> channels;
  for (int i = 0; i < c.parts; i++) channels.push_back(p.shape(part_input(i))[1]);
  return channels;
}

std::string packed_key(const ConvProblem& c, const std::vector<int64_t>& part_channels) {
  std::string key = std::to_string(kernels().conv_tile()) + ":" + std::to_string(c.group) + ":" + std::to_string(c.shuffle) + (c.turned ? "t" : "");
  for (int64_t n : part_channels) key += "," + std::to_string(n);
  return key;
}

DirectWeights direct_weights(PlanCtx& p, ConvProblem& c, bool plain) {
  const int64_t tile = kernels().conv_tile(), taps = c.taps(), weights_out = c.weights_out(), weights_in = c.weights_in();
  const int64_t row = c.w.w.kernel, slice = c.w.h.kernel * row;
  const int64_t first = leave_out_padding(c.w.d) * slice + leave_out_padding(c.w.h) * row + leave_out_padding(c.w.w);
  const std::vector<int64_t> channels = part_channels(p, c);
  DirectWeights made;
  made.map = map_direct(c, channels, plain, tile);
  made.flat = flatten(made.map);
  const size_t bytes = static_cast<size_t>(made.map.floats) * sizeof(float);
  const PackConv job{nullptr, nullptr, c.oc, c.group_in(), c.group_out(), c.w.h.kernel, c.w.w.kernel, tile, plain, c.w.c, c.shuffle, weights_out, weights_in, first, slice, row};
  if (!p.is_const(kW)) {
    made.packed.scratch = p.scratch(bytes);
    auto* s = p.emit<PackStep>(pack_step);
    s->pack = job;
    p.bind_in(s->pack.w, kW);
    p.bind_scratch(s->pack.out, made.packed.scratch);
    p.bind_packed(s->map, made.flat);
    return made;
  }
  std::string key = (plain ? "plain:" : "conv:") + packed_key(c, channels);
  if (c.taps() < taps)
    for (int64_t n : {first, c.w.d.kernel, c.w.h.kernel, c.w.w.kernel}) key += "/" + std::to_string(n);
  made.packed.buffer = p.pack(kW, key, [&](const void* data) {
    auto buffer = lasting_buffer(bytes);
    PackConv now = job;
    now.w = static_cast<const float*>(data);
    now.out = static_cast<float*>(buffer->data);
    pack_all(now, *static_cast<const FlatMap*>(made.flat->data));
    return buffer;
  });
  return made;
}

}  // namespace sx
