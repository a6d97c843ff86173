/* SPDX-License-Identifier: GPL-2.0-only */
/* What each fuzz target defines; libFuzzer or replay.c calls it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; aborts when something is wrong with this input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
