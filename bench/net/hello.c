#include "net.h"

#include <string.h>

/* A ClientHello as short as one that names a server can be (RFC 8446, 4.1.2), up to its one extension. */
static const uint8_t BEFORE[] = {
	[0] = 22, 3, 1,       /* a record of a handshake; its size at 3 */
	[5] = 1,              /* ClientHello; its size at 6 */
	[9] = 3,  3,          /* version; then 32 bytes that need not be random, and no session */
	[44] = 0, 2, 0x13, 1, /* one cipher suite */
	1,        0,          /* no compression */
};

static size_t put16(uint8_t *out, size_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
	return 2;
}

size_t write_hello(const char *host, uint8_t *out, size_t size)
{
	size_t name = strlen(host), at = sizeof(BEFORE);

	if (size < sizeof(BEFORE) + 11 + name)
		return 0;
	memcpy(out, BEFORE, sizeof(BEFORE));
	at += put16(out + at, name + 9); /* extensions */
	at += put16(out + at, 0);        /* server_name */
	at += put16(out + at, name + 5);
	at += put16(out + at, name + 3);
	out[at++] = 0; /* host_name */
	at += put16(out + at, name);
	memcpy(out + at, host, name);
	at += name;
	put16(out + 3, at - 5);
	put16(out + 7, at - 9);
	return at;
}
