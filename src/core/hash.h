/* Where a text goes in a table. */
#ifndef QSB_CORE_HASH_H
#define QSB_CORE_HASH_H

#include <stdint.h>

/* FNV-1a: not for texts that somebody chooses to collide, where that would matter. */
uint32_t qsb__hash_text(const char *text);

#endif
