/* The host's own table of names, /etc/hosts: read once, since the broker opens no file later. */
#ifndef QSB_BROKER_HOST_TABLE_H
#define QSB_BROKER_HOST_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/address.h"

struct qsb__host_table;

/* NULL = no memory. No such file, or one that cannot be read: an empty table. Lines that mean nothing are skipped;
 * beyond 8 MiB nothing is read. */
struct qsb__host_table *qsb__host_table_read(const char *path);
void qsb__host_table_free(struct qsb__host_table *table);

/* The addresses of a canonical name, in the file's order, at most `most`. Returns how many. */
size_t qsb__host_table_find(const struct qsb__host_table *table, const char *name, struct qsb__address *out,
			    size_t most);

/* The first name of an address that is wanted, in the file's order. Borrowed; NULL = none. */
const char *qsb__host_table_name(const struct qsb__host_table *table, const struct qsb__address *address,
				 bool (*wanted)(void *data, const char *name), void *data);

#endif
