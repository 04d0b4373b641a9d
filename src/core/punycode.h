/* Host names with other than ASCII letters, in the form that DNS knows (RFC 3492). */
#ifndef QSB_CORE_PUNYCODE_H
#define QSB_CORE_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>

/* Each label that is not ASCII becomes "xn--…". No letters are mapped or normalised: a capital or decomposed letter
 * gives another name than a browser would make of it. false = not UTF-8, or no room. */
bool qsb__punycode_name(const char *name, size_t length, char *out, size_t size);

#endif
