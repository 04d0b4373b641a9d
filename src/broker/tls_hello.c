#include "broker/tls_hello.h"

#include <string.h>

#include "broker/host_name.h"
#include "core/address.h"

enum { RECORD_HEADER = 5, RECORD_MAX = 16384, HELLO_HEADER = 4, CLIENT_HELLO = 1, ALERT = 21, FATAL = 2 };

/* What is left of a message, or of a part of it. */
struct part {
	const uint8_t *at;
	size_t left;
};

static enum qsb__parse refuse(struct qsb__tls_hello *out, const char *why)
{
	out->name[0] = '\0';
	out->why = why;
	return QSB__PARSE_BAD;
}

/* A number of `width` bytes; false = not there. */
static bool take_number(struct part *part, size_t width, size_t *out)
{
	if (part->left < width)
		return false;
	*out = 0;
	for (size_t i = 0; i < width; i++)
		*out = *out << 8 | part->at[i];
	part->at += width;
	part->left -= width;
	return true;
}

/* A part that follows its own length of `width` bytes. */
static bool take_part(struct part *part, size_t width, struct part *out)
{
	size_t size;

	if (!take_number(part, width, &size) || size > part->left)
		return false;
	*out = (struct part){part->at, size};
	part->at += size;
	part->left -= size;
	return true;
}

static const char *read_name(struct part name, char *out)
{
	struct qsb__address address;

	if (name.left == 0)
		return "an empty server name";
	/* Text beyond ASCII stands there as A-labels; other bytes would be read by each server in its own way. */
	for (size_t i = 0; i < name.left; i++)
		if (name.at[i] >= 0x80)
			return "a server name with a byte that no host name has";
	if (!qsb__host_name_canonical((const char *)name.at, name.left, out))
		return "a server name that is no host name";
	if (qsb__address_parse(out, strlen(out), &address))
		return "an address as the server name";
	return NULL;
}

/* The server_name extension. NULL, or what is wrong with it. */
static const char *read_server_name(struct part extension, char *out)
{
	struct part list, name;
	size_t type;

	if (!take_part(&extension, 2, &list) || extension.left > 0)
		return "a server name with a wrong length";
	if (!take_number(&list, 1, &type) || !take_part(&list, 2, &name))
		return "a server name with a wrong length";
	if (type != 0)
		return "a server name of an unknown kind";
	if (list.left > 0)
		return "two server names";
	return read_name(name, out);
}

static const char *read_extensions(struct part extensions, char *out)
{
	bool seen = false;

	while (extensions.left > 0) {
		const char *why = NULL;
		struct part extension;
		size_t type;

		if (!take_number(&extensions, 2, &type) || !take_part(&extensions, 2, &extension))
			return "an extension with a wrong length";
		if (type == 0 && seen)
			return "two server name extensions";
		if (type == 0)
			why = read_server_name(extension, out);
		if (why)
			return why;
		seen |= type == 0;
	}
	return NULL;
}

/* A whole ClientHello without its header. NULL, or what is wrong with it. */
static const char *read_hello(struct part hello, char *out)
{
	struct part session, ciphers, compressions, extensions;
	size_t version;

	if (!take_number(&hello, 2, &version) || version >> 8 != 3 || hello.left < 32)
		return "a TLS hello with a wrong version or length";
	hello.at += 32;
	hello.left -= 32;
	if (!take_part(&hello, 1, &session) || session.left > 32 || !take_part(&hello, 2, &ciphers) ||
	    ciphers.left < 2 || ciphers.left % 2 != 0 || !take_part(&hello, 1, &compressions) || compressions.left == 0)
		return "a TLS hello with a wrong length";
	if (hello.left == 0)
		return NULL;
	if (!take_part(&hello, 2, &extensions) || hello.left > 0)
		return "extensions with a wrong length";
	return read_extensions(extensions, out);
}

/* The next record's header at `bytes`. NULL, or what is wrong with as much of it as is there. */
static const char *check_record(const uint8_t *bytes, size_t length)
{
	size_t size = length >= RECORD_HEADER ? (size_t)bytes[3] << 8 | bytes[4] : 1;

	if (bytes[0] != QSB__TLS_HANDSHAKE)
		return "not a TLS handshake";
	if ((length > 1 && bytes[1] != 3) || (length > 2 && bytes[2] > 4))
		return "an unknown version of TLS";
	return size == 0 || size > RECORD_MAX ? "a TLS record with a wrong length" : NULL;
}

/* What the beginning of the message says; 0 = too short to tell its size. */
static const char *check_message(const uint8_t *message, size_t length, size_t *size)
{
	*size = 0;
	if (length > 0 && message[0] != CLIENT_HELLO)
		return "not a TLS ClientHello";
	if (length < HELLO_HEADER)
		return NULL;
	*size = HELLO_HEADER + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
	return *size > QSB__TLS_HELLO_MAX ? "a TLS hello that is too large" : NULL;
}

int qsb__tls_is_record(const uint8_t *bytes, size_t length)
{
	enum { CIPHER_CHANGE = 20, HEARTBEAT = 24, VERSION = 3 };

	if (length == 0)
		return -1;
	if (bytes[0] < CIPHER_CHANGE || bytes[0] > HEARTBEAT)
		return 0;
	if (length == 1)
		return bytes[0] == QSB__TLS_HANDSHAKE ? 1 : -1;
	return bytes[0] == QSB__TLS_HANDSHAKE || bytes[1] == VERSION;
}

enum qsb__parse qsb__tls_hello_parse(const uint8_t *bytes, size_t length, struct qsb__tls_hello *out)
{
	size_t end = length < QSB__TLS_HELLO_MAX ? length : QSB__TLS_HELLO_MAX;
	uint8_t message[QSB__TLS_HELLO_MAX];
	size_t used = 0, wanted = 0, at = 0;
	const char *why;

	memset(out, 0, sizeof(*out));
	while (at < end) {
		size_t size, here, left = end - at;

		why = check_record(bytes + at, left);
		if (why)
			return refuse(out, why);
		if (left < RECORD_HEADER)
			break;
		size = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		at += RECORD_HEADER;
		here = size < end - at ? size : end - at;
		memcpy(message + used, bytes + at, here);
		used += here;
		why = check_message(message, used, &wanted);
		if (why)
			return refuse(out, why);
		/* A ClientHello is the last message of its record: nothing may hide behind it. */
		if (wanted && used - here + size > wanted)
			return refuse(out, "a TLS record with more than the hello");
		at += here;
		if (here < size)
			break;
		if (wanted && used == wanted) {
			why = read_hello((struct part){message + HELLO_HEADER, wanted - HELLO_HEADER}, out->name);
			return why ? refuse(out, why) : QSB__PARSE_DONE;
		}
	}
	return length >= QSB__TLS_HELLO_MAX ? refuse(out, "a TLS hello that is too large") : QSB__PARSE_MORE;
}

size_t qsb__tls_alert_write(uint8_t description, uint8_t *out, size_t size)
{
	const uint8_t alert[] = {ALERT, 3, 3, 0, 2, FATAL, description};

	if (size < sizeof(alert))
		return 0;
	memcpy(out, alert, sizeof(alert));
	return sizeof(alert);
}
