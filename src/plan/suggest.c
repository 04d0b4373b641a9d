/* Names of files as they can be pasted: first as the policy reads them, then as a shell does. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/glob.h"
#include "core/path.h"
#include "core/utf8.h"
#include "plan/plan.h"

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("/._-+@%=:,", *text))
			return false;
	return true;
}

/* A terminal takes control characters for orders, a line has one line, and what is pasted is what is seen. */
static bool can_be_pasted(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t size = qsb__utf8_length(text, left);

		if (size == 0 || qsb__utf8_is_control(text, size))
			return false;
		text += size;
		left -= size;
	}
	return true;
}

/* Between single quotes a shell leaves all but the quote itself alone. */
static bool quote(char *out, size_t size, const char *text)
{
	size_t used = 0;

	if (size < 3)
		return false;
	out[used++] = '\'';
	for (; *text; text++) {
		const char *piece = *text == '\'' ? "'\\''" : (const char[]){*text, '\0'};
		size_t length = strlen(piece);

		if (used + length + 2 > size)
			return false;
		memcpy(out + used, piece, length);
		used += length;
	}
	out[used++] = '\'';
	out[used] = '\0';
	return true;
}

bool qsb__suggest_option(char *out, size_t size, const char *option, const char *path)
{
	char literal[QSB__PATH_MAX];
	size_t length = strlen(option) + 1;
	bool pattern = qsb__glob_is_pattern(path);

	out[0] = '\0';
	if (!can_be_pasted(path) || (pattern && !qsb__glob_quote(literal, sizeof(literal), path)) || length >= size)
		return false;
	path = pattern ? literal : path;
	if (is_plain(path) ? strlen(path) >= size - length : !quote(out + length, size - length, path)) {
		out[0] = '\0';
		return false;
	}
	memcpy(out, option, length - 1);
	out[length - 1] = ' ';
	if (is_plain(path))
		memcpy(out + length, path, strlen(path) + 1);
	return true;
}

bool qsb__suggest_entry(char *out, size_t size, const char *group, const char *list, const char *path)
{
	char text[QSB__PATH_MAX];
	size_t used = 0;

	out[0] = '\0';
	if (!can_be_pasted(path) || qsb__glob_is_pattern(path))
		return false;
	for (; *path && used + 3 < sizeof(text); path++) {
		if (*path == '"' || *path == '\\')
			text[used++] = '\\';
		text[used++] = *path;
	}
	text[used] = '\0';
	if (*path || strlen(group) + strlen(list) + used + sizeof("\"\": {\"\": [\"\"]}") > size)
		return false;
	snprintf(out, size, "\"%s\": {\"%s\": [\"%s\"]}", group, list, text);
	return true;
}
