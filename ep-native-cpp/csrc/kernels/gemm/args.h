// Argument structs of the gemm family.
#pragma once
#include <cstdint>

namespace sx {

// What an epilogue applies after bias and residual, elementwise. alpha and beta as in the ONNX operators of these names
// (leaky: slope; hard_sigmoid: alpha, beta; clip: min, max; elu: alpha; swish: x * sigmoid(alpha x)).
enum class Act : int32_t { none, relu, leaky_relu, sigmoid, hard_sigmoid, hard_swish, swish, gelu, gelu_tanh, tanh, clip, elu, softplus, mish, erf, exp, sqrt, abs };

struct Epilogue {
  const float* bias = nullptr;      // [N], or null
  const float* residual = nullptr;  // as C with row stride ldr, or null
  int64_t ldr = 0;
  Act act = Act::none;
  float alpha = 0, beta = 0;
  int32_t residual_after = 0;  // add the residual after the activation
};

// C[M, N] = act(A[M, K] B[K, N] + bias + residual). A is row-major with row stride lda; B is packed by pack_b.
struct Gemm {
  const float* a;
  int64_t lda;
  const float* b;
  float* c;
  int64_t ldc;
  int64_t m, n, k;
  Epilogue e;
  const char* next;     // bytes to prefetch while the last panels run, or null
  int64_t next_bytes;
};

// B[K, N] by element strides, into panels [ceil(N / width)][K][width], zero-padded.
struct PackB {
  const float* b;
  int64_t stride_k, stride_n;
  float* out;
  int64_t k, n;
};

// A product by one level of Strassen-Winograd (7 half-size products for 8). Rows come in blocks of `block`; of each the
// upper and lower half are the matrix halves.
struct Strassen {
  Gemm g;
  float* sums;      // S1..S4: [4][blocks * half_block][k / 2]
  float* buffers;   // per chunk in flight: strassen_buffer
  int64_t block, blocks;
};

}  // namespace sx
