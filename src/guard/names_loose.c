/*
 * Names as the file systems of other worlds read them. FAT, exFAT, NTFS and CIFS take "name. ",
 * "name::$INDEX_ALLOCATION" and a short name for the name itself; HFS+ leaves characters out that show nothing, and
 * both of them fold letters beyond ASCII, of which two become ASCII ones. The rules are those that git checks ".git"
 * by.
 */
#include <string.h>

#include "guard/names_table.h"

/* U+017F and U+212A, whose small letters are "s" and "k", and the Turkish pair that some tables take for "i". */
static size_t folds_to(const char *at, size_t left, char *letter)
{
	if (left >= 2 && memcmp(at, "\xc5\xbf", 2) == 0)
		return *letter = 's', 2;
	if (left >= 2 && (memcmp(at, "\xc4\xb0", 2) == 0 || memcmp(at, "\xc4\xb1", 2) == 0))
		return *letter = 'i', 2;
	if (left >= 3 && memcmp(at, "\xe2\x84\xaa", 3) == 0)
		return *letter = 'k', 3;
	return 0;
}

bool qsb__names_plain(const char *name, size_t length, char *out, size_t *out_length)
{
	size_t size = 0;

	for (size_t i = 0; i < length;) {
		char letter;
		size_t folded = folds_to(name + i, length - i, &letter);

		if (folded) {
			out[size++] = letter;
			i += folded;
			continue;
		}
		if (name[i] == ':')
			break; /* a stream of the file, not another one */
		/* Anything else beyond ASCII may be left out: nobody's own name has protected ones before and after. */
		if ((unsigned char)name[i] < 0x80)
			out[size++] = name[i];
		i++;
	}
	while (size > 0 && (out[size - 1] == '.' || out[size - 1] == ' '))
		size--;
	out[size] = '\0';
	*out_length = size;
	return size > 0 && (size != length || memcmp(out, name, size) != 0);
}

/* At most eight characters with '~' and a number at their end, and an extension of three. */
bool qsb__names_is_short(const char *name, size_t length)
{
	enum { BASE = 8, EXTENSION = 3 };
	const char *dot = memchr(name, '.', length);
	size_t base = dot ? (size_t)(dot - name) : length, digits = 0;

	while (length > 0 && (name[length - 1] == ' ' || name[length - 1] == '.') && length > base)
		length--;
	if (base > BASE || (dot && length > base + 1 + EXTENSION))
		return false;
	while (digits < base && name[base - 1 - digits] >= '0' && name[base - 1 - digits] <= '9')
		digits++;
	return digits > 0 && base > digits && name[base - 1 - digits] == '~';
}
