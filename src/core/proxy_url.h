/* The address of a proxy that leads on to the network. */
#ifndef QSB_CORE_PROXY_URL_H
#define QSB_CORE_PROXY_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/domain.h"

enum qsb__proxy_kind { QSB__PROXY_HTTP, QSB__PROXY_SOCKS5 };

enum { QSB__PROXY_WORD = 256, QSB__PROXY_URL_MAX = 1024 };

struct qsb__proxy_url {
	enum qsb__proxy_kind kind;
	char host[QSB__DOMAIN_MAX]; /* canonical, without brackets */
	unsigned port;
	char user[QSB__PROXY_WORD], password[QSB__PROXY_WORD]; /* decoded; "" = none */
};

/*
 * "http://[user[:password]@]host[:port]" (port 80 where none is said), "socks5://…" and "socks5h://…" (1080); '%' and
 * two hexadecimal digits stand for a byte of the user and the password. 0, or QSB_E_INVALID with the right spelling in
 * `why`, which never holds the password.
 */
int qsb__proxy_url_parse(const char *text, struct qsb__proxy_url *out, char *why, size_t why_size);

/* The value of /network/upstreamProxy: a URL as above, "environment" or "none". 0, or QSB_E_INVALID and `why`. */
int qsb__proxy_check(const char *text, char *why, size_t why_size);

/* The text with "***" in the place of a password, also where it is no good URL. `out` may be cut. */
void qsb__proxy_url_hide(const char *text, char *out, size_t size);

#endif
