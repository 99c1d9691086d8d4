#include <algorithm>
#include <cctype>

#include "ops/recurrent.h"

namespace sx {
namespace {

struct Named {
  const char* name;
  Gate kind;
  bool has_alpha, has_beta;
  float alpha, beta;
};

constexpr Named kNamed[] = {
    {"sigmoid", Gate::sigmoid, false, false, 0, 0},
    {"tanh", Gate::tanh, false, false, 0, 0},
    {"relu", Gate::relu, false, false, 0, 0},
    {"affine", Gate::affine, true, true, 1, 0},
    {"leakyrelu", Gate::leaky_relu, true, false, 0.01f, 0},
    {"thresholdedrelu", Gate::thresholded_relu, true, false, 1, 0},
    {"scaledtanh", Gate::scaled_tanh, true, true, 1, 1},
    {"hardsigmoid", Gate::hard_sigmoid, true, true, 0.2f, 0.5f},
    {"elu", Gate::elu, true, false, 1, 0},
    {"softsign", Gate::softsign, false, false, 0, 0},
    {"softplus", Gate::softplus, false, false, 0, 0},
};

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  return s;
}

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> parts(1);
  for (char c : s)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

}  // namespace

Direction direction_of(const Attributes& attrs) {
  const std::string d = lower(attrs.gets("direction", "forward"));
  if (d == "forward" || d == "foward") return Direction::forward;  // GRU-1's default is misspelt
  if (d == "reverse") return Direction::reverse;
  if (d == "bidirectional") return Direction::both;
  throw OpError("direction is '" + d + "', but must be forward, reverse or bidirectional");
}

std::vector<GateFn> gate_functions(const Attributes& attrs, const std::string& usual, int64_t directions) {
  const auto defaults = split(usual);
  auto given = attrs.string_lists.find("activations");
  std::vector<std::string> names;
  if (given != attrs.string_lists.end() && !given->second.empty())
    names = given->second;
  else
    for (int64_t d = 0; d < directions; d++) names.insert(names.end(), defaults.begin(), defaults.end());
  const size_t each = defaults.size();
  if (names.size() < each * directions) throw OpError(std::to_string(names.size()) + " activations are named, but " + std::to_string(each * directions) + " are needed");
  const auto alphas = attrs.numbers("activation_alpha"), betas = attrs.numbers("activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<GateFn> functions(3 * directions, GateFn{Gate::tanh, 0, 0});
  for (size_t i = 0; i < each * directions; i++) {
    const std::string name = lower(names[i]);
    auto* found = std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& n) { return name == n.name; });
    if (found == std::end(kNamed)) throw OpError("unknown activation '" + names[i] + "'");
    GateFn f{found->kind, found->alpha, found->beta};
    if (found->has_alpha && alpha < alphas.size()) f.alpha = static_cast<float>(alphas[alpha++]);
    if (found->has_beta && beta < betas.size()) f.beta = static_cast<float>(betas[beta++]);
    functions[i / each * 3 + i % each] = f;
  }
  return functions;
}

}  // namespace sx
