#include <stdio.h>
#include <string.h>

#include "broker/http_head.h"
#include "broker/http_line.h"

enum { OPTIONS_MAX = 32 };

/* The head being written; `full` once something found no room. */
struct writing {
	char *out;
	size_t used, size;
	bool full;
};

/* What the Connection headers name. */
struct options {
	struct qsb__http_text names[OPTIONS_MAX];
	size_t count;
};

static void put(struct writing *writing, const char *text, size_t size)
{
	if (writing->full || size > writing->size - writing->used) {
		writing->full = true;
		return;
	}
	if (size)
		memcpy(writing->out + writing->used, text, size);
	writing->used += size;
}

static void put_text(struct writing *writing, const char *text)
{
	put(writing, text, strlen(text));
}

static void put_authority(struct writing *writing, const char *host, unsigned port)
{
	bool brackets = strchr(host, ':') != NULL;
	char text[16] = "";

	if (port && port != 80)
		snprintf(text, sizeof(text), ":%u", port);
	put_text(writing, brackets ? "[" : "");
	put_text(writing, host);
	put_text(writing, brackets ? "]" : "");
	put_text(writing, text);
}

static void put_request_line(struct writing *writing, const char *bytes, const struct qsb__http_head *head,
			     const struct qsb__http_onward *onward)
{
	size_t end = head->target_at + head->target_size;
	size_t path_at = head->form == QSB__HTTP_ABSOLUTE ? head->path_at : head->target_at;
	bool is_options = head->target_at == 8 && memcmp(bytes, "OPTIONS", 7) == 0;
	bool whole_server = head->form == QSB__HTTP_ASTERISK || (is_options && path_at == end);

	put(writing, bytes, head->target_at);
	if (onward) {
		put_text(writing, "http://");
		put_authority(writing, onward->host, onward->port);
	}
	if (whole_server) {
		put_text(writing, onward ? "" : "*");
	} else {
		put_text(writing, path_at == end || bytes[path_at] == '?' ? "/" : "");
		put(writing, bytes + path_at, end - path_at);
	}
	put_text(writing, head->minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
}

static void collect_options(struct options *options, struct qsb__http_text list)
{
	struct qsb__http_text option;

	while (qsb__http_list_cut(&list, &option))
		if (option.size > 0 && options->count < OPTIONS_MAX)
			options->names[options->count++] = option;
}

static bool ends_here(const struct qsb__http_field *field, const struct options *options, bool upgrade)
{
	static const char *const names[] = {"connection", "keep-alive", "te", "http2-settings"};

	if (qsb__http_is_word(field->name, "upgrade"))
		return !upgrade;
	if (qsb__http_begins(field->name, "proxy-"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (qsb__http_is_word(field->name, names[i]))
			return true;
	for (size_t i = 0; i < options->count; i++)
		if (qsb__http_same_word(field->name, options->names[i]))
			return true;
	return false;
}

/* The next header of a head that the parser has read; false = no more. `line` is the whole of it. */
static bool next_field(struct qsb__http_text *rest, struct qsb__http_text *line, struct qsb__http_field *field)
{
	const char *why;

	return qsb__http_line_cut(rest, line, &why) == QSB__PARSE_DONE && line->size > 0 &&
	       !qsb__http_field_read(*line, field);
}

/* HTTP/1.0 with the host in its target only, or with none: the target that goes on may not be all that is read. */
static void put_host(struct writing *writing, const struct qsb__http_head *head, const struct qsb__http_onward *onward)
{
	const char *host = onward ? onward->host : head->host;

	if (!host[0])
		return;
	put_text(writing, "Host: ");
	put_authority(writing, host, onward ? onward->port : head->port);
	put_text(writing, "\r\n");
}

static void put_fields(struct writing *writing, struct qsb__http_text fields, const struct qsb__http_head *head,
		       const struct qsb__http_onward *onward)
{
	struct qsb__http_text rest = fields, line;
	struct options options = {.count = 0};
	struct qsb__http_field field;
	bool has_host = false;

	while (next_field(&rest, &line, &field)) {
		if (qsb__http_is_word(field.name, "connection"))
			collect_options(&options, field.value);
		has_host |= qsb__http_is_word(field.name, "host");
	}
	if (!has_host)
		put_host(writing, head, onward);
	for (rest = fields; next_field(&rest, &line, &field);) {
		if (ends_here(&field, &options, head->upgrade))
			continue;
		put(writing, line.at, line.size);
		put_text(writing, "\r\n");
	}
}

static bool is_field_value(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7F)
			return false;
	return true;
}

size_t qsb__http_head_write(const char *bytes, const struct qsb__http_head *head, const struct qsb__http_onward *onward,
			    char *out, size_t size)
{
	const char *line_end = memchr(bytes, '\n', head->size);
	struct writing writing = {.out = out, .size = size};
	struct qsb__http_text fields;

	if (head->form == QSB__HTTP_AUTHORITY || !line_end)
		return 0;
	if (onward && (!onward->host[0] || (onward->authorization && !is_field_value(onward->authorization))))
		return 0;
	fields = (struct qsb__http_text){line_end + 1, head->size - (size_t)(line_end + 1 - bytes)};
	put_request_line(&writing, bytes, head, onward);
	put_fields(&writing, fields, head, onward);
	if (onward && onward->authorization) {
		put_text(&writing, "Proxy-Authorization: ");
		put_text(&writing, onward->authorization);
		put_text(&writing, "\r\n");
	}
	put_text(&writing, head->upgrade ? "Connection: upgrade\r\n\r\n" : "Connection: close\r\n\r\n");
	return writing.full ? 0 : writing.used;
}
