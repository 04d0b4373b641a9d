#include "core/glob.h"

#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

bool qsb__glob_is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static unsigned char lower(unsigned char byte, bool fold)
{
	return fold && byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + 32) : byte;
}

/* The length of the UTF-8 character at `text`, 1 where the bytes are not one; never beyond `end`. */
static size_t character(const char *text, const char *end, unsigned long *value)
{
	size_t size = qsb__utf8_length(text, (size_t)(end - text));

	*value = (unsigned char)*text;
	if (size < 2)
		return 1;
	*value &= 0xFFUL >> (size + 1);
	for (size_t i = 1; i < size; i++)
		*value = *value << 6 | ((unsigned char)text[i] & 0x3FU);
	return size;
}

/* The ']' that closes the class at pattern[0] == '[', or NULL. A ']' that comes first is a member. */
static const char *class_end(const char *pattern, const char *end)
{
	const char *at = pattern + 1;

	if (at < end && (*at == '!' || *at == '^'))
		at++;
	if (at < end && *at == ']')
		at++;
	while (at < end && *at != ']')
		at++;
	return at < end ? at : NULL;
}

static unsigned long fold_value(unsigned long value, bool fold)
{
	return fold && value >= 'A' && value <= 'Z' ? value + 32 : value;
}

static bool in_class(const char *at, const char *close, unsigned long value, bool fold)
{
	bool inverted = *at == '!' || *at == '^';
	bool found = false;

	if (inverted)
		at++;
	value = fold_value(value, fold);
	while (at < close) {
		unsigned long low, high;

		at += character(at, close, &low);
		high = low;
		if (close - at >= 2 && *at == '-')
			at += 1 + character(at + 1, close, &high);
		if (value >= fold_value(low, fold) && value <= fold_value(high, fold))
			found = true;
	}
	return found != inverted;
}

struct part {
	const char *at, *end; /* one component */
};

/* Matches one pattern item that is not '*' against the start of the text. Bytes of text eaten, 0 = no match. */
static size_t match_one(const struct part *pattern, const struct part *text, bool fold, size_t *eaten)
{
	unsigned long value;
	size_t size;

	*eaten = 1;
	if (text->at == text->end)
		return 0;
	if (*pattern->at == '?')
		return character(text->at, text->end, &value);
	if (*pattern->at == '[') {
		const char *close = class_end(pattern->at, pattern->end);

		if (!close)
			return 0;
		*eaten = (size_t)(close + 1 - pattern->at);
		size = character(text->at, text->end, &value);
		return in_class(pattern->at + 1, close, value, fold) ? size : 0;
	}
	return lower((unsigned char)*pattern->at, fold) == lower((unsigned char)*text->at, fold) ? 1 : 0;
}

/* One component. Only the last star is ever tried again: an earlier one that took more could not help. */
static bool match_part(struct part pattern, struct part text, bool fold)
{
	struct part retry_pattern = {NULL, NULL}, retry_text = {NULL, NULL};

	/* Most files end otherwise than the pattern: "*.pem" is decided by its last byte. */
	if (pattern.at < pattern.end && text.at < text.end && !strchr("*?]", pattern.end[-1]) &&
	    lower((unsigned char)pattern.end[-1], fold) != lower((unsigned char)text.end[-1], fold))
		return false;
	while (text.at < text.end || pattern.at < pattern.end) {
		size_t eaten, size = 0;

		if (pattern.at < pattern.end && *pattern.at == '*') {
			pattern.at++;
			retry_pattern = pattern;
			retry_text = text;
			continue;
		}
		if (pattern.at < pattern.end)
			size = match_one(&pattern, &text, fold, &eaten);
		if (size) {
			pattern.at += eaten;
			text.at += size;
			continue;
		}
		if (!retry_pattern.at || retry_text.at >= retry_text.end)
			return false;
		retry_text.at++;
		pattern = retry_pattern;
		text = retry_text;
	}
	return true;
}

/* The next component of the path at *rest; false at its end. Empty components are passed over. */
static bool next_part(const char **rest, struct part *part)
{
	const char *at = *rest, *end;

	/* Loops, not strspn and strcspn: these prepare tables for each call, which costs more than a few bytes. */
	while (*at == '/')
		at++;
	for (end = at; *end && *end != '/'; end++)
		;
	part->at = at;
	part->end = end;
	*rest = end;
	return end > at;
}

static bool is_any_depth(const struct part *part)
{
	return part->end - part->at == 2 && part->at[0] == '*' && part->at[1] == '*';
}

int qsb__glob_check(const char *pattern, char *why, size_t size)
{
	struct part part;

	if (!*pattern) {
		snprintf(why, size, "a pattern may not be empty");
		return -1;
	}
	if (strlen(pattern) >= QSB__GLOB_MAX) {
		snprintf(why, size, "a pattern may have %d bytes at most", QSB__GLOB_MAX - 1);
		return -1;
	}
	while (next_part(&pattern, &part)) {
		for (const char *at = part.at; at < part.end; at++) {
			if (*at != '[')
				continue;
			at = class_end(at, part.end);
			if (!at) {
				snprintf(why, size, "'[' without its ']' in \"%.*s\"; a plain '[' is written \"[[]\"",
					 (int)(part.end - part.at), part.at);
				return -1;
			}
		}
	}
	return 0;
}

bool qsb__glob_match(const char *pattern, const char *path, bool fold)
{
	const char *retry_pattern = NULL, *retry_path = NULL;
	struct part wanted, got;

	if ((*pattern == '/') != (*path == '/'))
		return false;
	for (;;) {
		const char *pattern_rest = pattern, *path_rest = path;
		bool more_pattern = next_part(&pattern_rest, &wanted);
		bool more_path = next_part(&path_rest, &got);

		if (more_pattern && is_any_depth(&wanted)) {
			pattern = retry_pattern = pattern_rest;
			retry_path = path;
			continue;
		}
		if (!more_pattern && !more_path)
			return true;
		if (more_pattern && more_path && match_part(wanted, got, fold)) {
			pattern = pattern_rest;
			path = path_rest;
			continue;
		}
		/* As in match_part: only the last "**" can usefully take one component more. */
		if (!retry_pattern || !next_part(&retry_path, &got))
			return false;
		pattern = retry_pattern;
		path = retry_path;
	}
}

bool qsb__glob_may_hold(const char *pattern, const char *folder, bool fold)
{
	struct part wanted, got;

	if ((*pattern == '/') != (*folder == '/'))
		return false;
	while (next_part(&folder, &got)) {
		if (!next_part(&pattern, &wanted))
			return false;
		if (is_any_depth(&wanted))
			return true;
		if (!match_part(wanted, got, fold))
			return false;
	}
	return next_part(&pattern, &wanted);
}

size_t qsb__glob_literal_prefix(const char *pattern)
{
	const char *wild = strpbrk(pattern, "*?[");

	if (!wild)
		return strlen(pattern);
	while (wild > pattern && *wild != '/')
		wild--;
	return wild == pattern && *pattern == '/' ? 1 : (size_t)(wild - pattern);
}

bool qsb__glob_quote(char *out, size_t size, const char *text)
{
	size_t length = 0;

	for (; *text; text++) {
		bool special = strchr("*?[", *text) != NULL;

		if (length + 4 > size)
			return false;
		if (special)
			out[length++] = '[';
		out[length++] = *text;
		if (special)
			out[length++] = ']';
	}
	out[length] = '\0';
	return true;
}
