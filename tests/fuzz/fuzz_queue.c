// SPDX-License-Identifier: GPL-2.0-only
/* A property case whose decisions are the fuzzer's. */
#include <stdio.h>
#include <stdlib.h>

#include "../property/case.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source;
	const char *why;

	source_from_bytes(&source, data, size);
	why = case_run(&source);
	if (!why)
		return 0;
	fprintf(stderr, "%s\n", why);
	abort();
}
