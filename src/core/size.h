/* Numbers as people write them: sizes, durations, processors. Nothing here looks at the locale. */
#ifndef QSB_CORE_SIZE_H
#define QSB_CORE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* The accepted forms, for messages: "must be …". */
#define QSB__SIZE_FORMS     "a size such as 512m, 2g, 64k or a number of bytes"
#define QSB__DURATION_FORMS "a number of seconds such as 300 or 1.5, or 90s, 5m, 1h"
#define QSB__CPUS_FORMS     "a number of processors such as 2 or 0.5"
#define QSB__COUNT_FORMS    "a whole number such as 512"

/* Each reads the whole text: no sign, no white space, nothing behind it. 0, QSB_E_INVALID (not of the form) or
 * QSB_E_RANGE (of the form, but not representable); *out is written only with 0. */

/* Bytes: "4096", "64k", "512m", "1.5g", "2gb", "2GiB", "1t"; factors of 1024, any case. A part of a byte is cut off. */
int qsb__size_parse(const char *text, uint64_t *bytes);
/* Milliseconds: "300", "1.5", "500ms", "90s", "5m", "1h", "2d"; without a unit it is seconds. */
int qsb__duration_parse(const char *text, uint64_t *ms);
/* Thousandths: "2", "0.5". */
int qsb__cpus_parse(const char *text, uint64_t *milli);
/* "512". */
int qsb__count_parse(const char *text, uint64_t *count);

/* The shortest exact form that the function above reads back to the same value: "2g", "300", "1.5", "0.5". */
enum { QSB__NUMBER_TEXT_MAX = 32 };
void qsb__size_format(uint64_t bytes, char out[QSB__NUMBER_TEXT_MAX]);
void qsb__milli_format(uint64_t thousandths, char out[QSB__NUMBER_TEXT_MAX]);

#endif
