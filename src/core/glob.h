/*
 * File name patterns, with one meaning on every OS:
 *   *      any characters but '/', also none      **   as a whole component: any number of components, also none
 *   ?      one character but '/'                  [a-z] [!a-z] [^a-z]   one character of a class, never '/'
 * A leading dot is a character like any other. There is no escape: "[*]" is a star. A character is a byte, except that
 * '?' and a class take a whole UTF-8 character where the text is one.
 */
#ifndef QSB_CORE_GLOB_H
#define QSB_CORE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum { QSB__GLOB_MAX = 4096 }; /* bytes of a pattern */

bool qsb__glob_is_pattern(const char *text); /* holds '*', '?' or '[' */

/* 0, or -1 with the reason in `why`: empty, too long, an unclosed class. */
int qsb__glob_check(const char *pattern, char *why, size_t size);

/* Takes time proportional to the product of both lengths at the worst. A pattern that glob_check refuses matches
 * nothing. `fold` ignores ASCII case. */
bool qsb__glob_match(const char *pattern, const char *path, bool fold);

/* May something below the folder match: is it worth a walk? */
bool qsb__glob_may_hold(const char *pattern, const char *folder, bool fold);

/* Length of the leading whole components without wildcards: of "/a/b*c/d" 2 ("/a"). */
size_t qsb__glob_literal_prefix(const char *pattern);

/* The pattern that matches only `text`. Into `out`; false = no room. */
bool qsb__glob_quote(char *out, size_t size, const char *text);

#endif
