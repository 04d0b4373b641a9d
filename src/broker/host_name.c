#include "broker/host_name.h"

#include <string.h>

#include "broker/parse.h"
#include "core/address.h"
#include "core/punycode.h"

/* TEXT_MAX: a name of 253 bytes cannot have been written with more in UTF-8. */
enum { NAME_MAX_BYTES = 253, LABEL_MAX_BYTES = 63, TEXT_MAX = 4 * QSB__HOST_MAX };

static bool is_name_byte(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' ||
	       byte == '.';
}

/* Lower case; false for an ASCII byte that is in no name. */
static bool copy_lower(const char *text, size_t length, char *out, bool *foreign)
{
	*foreign = false;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte >= 'A' && byte <= 'Z')
			byte |= 0x20;
		if (byte < 0x80 && !is_name_byte(byte))
			return false;
		*foreign |= byte >= 0x80;
		out[i] = (char)byte;
	}
	return true;
}

/* Characters that programs read as a dot: nobody can say how many labels such a name has. */
static bool has_foreign_dot(const char *text, size_t length)
{
	static const char dots[3][4] = {"\xE3\x80\x82", "\xEF\xBC\x8E", "\xEF\xBD\xA1"};

	for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++)
		if (memmem(text, length, dots[i], 3))
			return true;
	return false;
}

static bool labels_are_good(const char *name, size_t length)
{
	size_t label = 0;

	for (size_t i = 0; i < length; i++) {
		label = name[i] == '.' ? 0 : label + 1;
		if (label > LABEL_MAX_BYTES || (label == 0 && (i == 0 || name[i - 1] == '.')))
			return false;
	}
	return label > 0;
}

/* Programs take a name whose last part is a number for an address, or try to. */
static bool ends_in_number(const char *name, size_t length)
{
	const char *dot = memrchr(name, '.', length);
	size_t at = dot ? (size_t)(dot + 1 - name) : 0;
	bool hexadecimal = length - at > 1 && name[at] == '0' && name[at + 1] == 'x';

	for (size_t i = hexadecimal ? at + 2 : at; i < length; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';

		if (!digit && (!hexadecimal || name[i] < 'a' || name[i] > 'f'))
			return false;
	}
	return true;
}

static bool canonical_name(const char *text, size_t length, char *out)
{
	struct qsb__address address;
	char lower[TEXT_MAX];
	bool foreign;

	if (length > 1 && text[length - 1] == '.')
		length--;
	if (!copy_lower(text, length, lower, &foreign))
		return false;
	if (foreign) {
		if (has_foreign_dot(lower, length) || !qsb__punycode_name(lower, length, out, QSB__HOST_MAX))
			return false;
		length = strlen(out);
	} else if (length <= NAME_MAX_BYTES) {
		memcpy(out, lower, length);
	}
	if (length > NAME_MAX_BYTES || !labels_are_good(out, length))
		return false;
	out[length] = '\0';
	if (!ends_in_number(out, length))
		return true;
	if (!qsb__address_parse_loose(out, length, &address))
		return false;
	qsb__address_format(&address, out);
	return true;
}

bool qsb__host_name_canonical(const char *text, size_t length, char *out)
{
	struct qsb__address address;

	out[0] = '\0';
	if (length == 0 || length > TEXT_MAX)
		return false;
	if (qsb__address_parse(text, length, &address)) {
		qsb__address_format(&address, out);
		return true;
	}
	if (canonical_name(text, length, out))
		return true;
	out[0] = '\0';
	return false;
}

bool qsb__host_is_localhost(const char *name)
{
	size_t length = strlen(name), own = strlen("localhost");

	return length >= own && strcmp(name + length - own, "localhost") == 0 &&
	       (length == own || name[length - own - 1] == '.');
}
