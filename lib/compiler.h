/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the library asks of the compiler beyond C11. */
#ifndef WRB_COMPILER_H
#define WRB_COMPILER_H

#include <stdint.h>

#define likely(x)	      __builtin_expect(!!(x), 1)
#define unlikely(x)	      __builtin_expect(!!(x), 0)
#define always_inline	      inline __attribute__((__always_inline__))
#define noinline	      __attribute__((__noinline__))
#define cold		      __attribute__((__cold__, __noinline__))
#define wrb_export	      __attribute__((__visibility__("default")))
#define wrb_printf(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

/* Two numbers beside each other, to be loaded, reckoned and stored at once. */
typedef uint64_t u64_pair __attribute__((__vector_size__(16)));

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* WRB_COMPILER_H */
