#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes ./configure in a fresh checkout.
cd "$(dirname "$0")" && mkdir -p config && exec autoreconf --install "$@"
