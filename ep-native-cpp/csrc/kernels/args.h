// The argument structs of all families.
#pragma once
#include "kernels/conv/args.h"
#include "kernels/attention/args.h"
#include "kernels/gemm/args.h"
#include "kernels/movement/args.h"
#include "kernels/nbits/args.h"
#include "kernels/recurrent/args.h"
#include "kernels/rows/args.h"
