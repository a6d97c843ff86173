// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Operations: staged, in flight, done. */
#include "op_table.h"

#include <stdlib.h>

_Static_assert(sizeof(struct op) == 64, "an operation is one cache line");

int op_table_init(struct op_table *table, uint32_t nr_ops)
{
	table->ops = aligned_alloc(64, nr_ops * sizeof(*table->ops));
	table->free = malloc(nr_ops * sizeof(*table->free));
	table->cuts = calloc(nr_ops, sizeof(*table->cuts));
	table->staged.at = calloc(2 * (size_t)nr_ops + OP_ROW_AHEAD,
				  sizeof(*table->staged.at));
	if (!table->ops || !table->free || !table->cuts || !table->staged.at)
		return -ENOMEM;
	table->nr_ops = nr_ops;
	table->nr_free = nr_ops;
	table->staged.size = 2 * nr_ops;
	op_list_reset(&table->done);
	for (uint32_t i = 0; i < nr_ops; i++)
		table->free[i] = nr_ops - 1 - i;
	return 0;
}

void op_table_free(struct op_table *table)
{
	free(table->ops);
	free(table->free);
	free(table->cuts);
	free(table->staged.at);
}
