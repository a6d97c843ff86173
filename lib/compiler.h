/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the library asks of the compiler beyond C11. */
#ifndef WRB_COMPILER_H
#define WRB_COMPILER_H

#include <stdbool.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define likely(x)	      __builtin_expect(!!(x), 1)
#define unlikely(x)	      __builtin_expect(!!(x), 0)
#define always_inline	      inline __attribute__((__always_inline__))
#define noinline	      __attribute__((__noinline__))
#define cold		      __attribute__((__cold__, __noinline__))
#define wrb_export	      __attribute__((__visibility__("default")))
#define wrb_printf(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

/* Numbers beside each other, to be loaded, reckoned and stored at once. */
typedef uint64_t u64_pair __attribute__((__vector_size__(16)));
typedef uint32_t u32_quad __attribute__((__vector_size__(16)));

/* Is one of them, as a number with a sign, below 0? */
static always_inline bool pair_below_0(u64_pair pair)
{
#ifdef __SSE2__
	return _mm_movemask_pd((__m128d)pair) != 0;
#else
	return (int64_t)(pair[0] | pair[1]) < 0;
#endif
}

/* The least power of two that is n or more; n is 2^31 at most. */
static inline uint32_t round_up_pow2(uint32_t n)
{
	return n < 2 ? 1 : UINT32_C(1) << (32 - __builtin_clz(n - 1));
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* WRB_COMPILER_H */
