// A function template of Winograd's forms, for a form that is known only while running.
#pragma once
#include "kernels/conv/args.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

// One of kWinogradForms as constants.
template <int N>
struct Form {
  static constexpr int mh = kWinogradForms[N].mh, kh = kWinogradForms[N].kh, mw = kWinogradForms[N].mw, kw = kWinogradForms[N].kw;
  static constexpr int ah = mh + kh - 1, aw = mw + kw - 1;
};

template <int N = 0, typename F>
static inline void with_form(const WinogradForm& form, F f) {
  using T = Form<N>;
  if (form.mh == T::mh && form.kh == T::kh && form.mw == T::mw && form.kw == T::kw)
    f(T{});
  else if constexpr (N + 1 < static_cast<int>(sizeof(kWinogradForms) / sizeof(WinogradForm)))
    with_form<N + 1>(form, f);
}

}  // namespace SX_ISA
}  // namespace sx
