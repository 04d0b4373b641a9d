#include <string.h>

#include "broker/host_name.h"
#include "broker/http_head.h"
#include "core/address.h"

enum { PORT_DIGITS = 5, PORT_MAX = 65535 };

static bool read_port(const char *text, size_t length, unsigned *port)
{
	*port = 0;
	if (length == 0 || length > PORT_DIGITS || text[0] == '0')
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*port = *port * 10 + (unsigned)(text[i] - '0');
	}
	return *port <= PORT_MAX;
}

/* Text beyond ASCII stands in a URI as A-labels; raw, each server reads it in its own way. */
static bool is_ascii(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

bool qsb__http_authority_parse(const char *text, size_t length, char *host, unsigned *port)
{
	bool brackets = length > 0 && text[0] == '[';
	const char *colon = memchr(text, brackets ? ']' : ':', length);
	size_t host_size;
	struct qsb__address address;

	host[0] = '\0';
	*port = 0;
	if (brackets) {
		if (!colon || !memchr(text, ':', (size_t)(colon - text)) ||
		    !qsb__address_parse(text + 1, (size_t)(colon - text) - 1, &address))
			return false;
		host_size = (size_t)(colon - text) + 1;
		if (host_size < length && text[host_size] != ':')
			return false;
		qsb__address_format(&address, host);
	} else {
		host_size = colon ? (size_t)(colon - text) : length;
		if (!is_ascii(text, host_size) || !qsb__host_name_canonical(text, host_size, host))
			return false;
	}
	if (host_size == length || read_port(text + host_size + 1, length - host_size - 1, port))
		return true;
	host[0] = '\0';
	*port = 0;
	return false;
}
