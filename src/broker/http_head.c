#include "broker/http_head.h"

#include <string.h>

#include "broker/http_line.h"
#include "broker/http_target.h"

/* More than any program names in Connection: what has to be looked for in every header stays bounded. */
enum { OPTIONS_MAX = 32, LENGTH_DIGITS = 18 };

/* What the headers said, until all of them are read. */
struct reading {
	struct qsb__http_head *out;
	char host[QSB__HOST_MAX]; /* of the Host header */
	unsigned port, options;
	bool has_host, is_connect;
	bool wants_upgrade, names_protocol;
	bool refuses_protocol; /* HTTP itself in another form, which nobody could follow here */
};

static const char *fail(struct reading *reading, int status, const char *why)
{
	reading->out->status = status;
	return why;
}

static const char *read_host(struct reading *reading, struct qsb__http_text value)
{
	if (reading->has_host)
		return "two Host headers";
	reading->has_host = true;
	if (!qsb__http_authority_parse(value.at, value.size, reading->host, &reading->port))
		return "a Host header that is no host";
	return NULL;
}

static const char *read_length(struct reading *reading, struct qsb__http_text value)
{
	struct qsb__http_head *out = reading->out;

	if (out->has_length)
		return "two Content-Length headers";
	out->has_length = true;
	if (value.size == 0 || (value.size > 1 && value.at[0] == '0'))
		return "a Content-Length that is no number";
	for (size_t i = 0; i < value.size; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return "a Content-Length that is no number";
		if (i >= LENGTH_DIGITS)
			return "a Content-Length that is too large";
		out->length = out->length * 10 + (unsigned)(value.at[i] - '0');
	}
	return NULL;
}

static const char *read_coding(struct reading *reading, struct qsb__http_text value)
{
	if (reading->out->chunked)
		return "two Transfer-Encoding headers";
	if (reading->out->minor == 0)
		return "a Transfer-Encoding in HTTP/1.0";
	if (!qsb__http_is_word(value, "chunked"))
		return fail(reading, 501, "a Transfer-Encoding other than chunked");
	reading->out->chunked = true;
	return NULL;
}

static const char *read_connection(struct reading *reading, struct qsb__http_text list)
{
	struct qsb__http_text option;

	while (qsb__http_list_cut(&list, &option)) {
		if (option.size == 0)
			continue;
		if (!qsb__http_is_token(option))
			return "a Connection header that is no list of names";
		if (qsb__http_is_word(option, "host") || qsb__http_is_word(option, "content-length") ||
		    qsb__http_is_word(option, "transfer-encoding"))
			return "a Connection header that names what the message needs";
		if (++reading->options > OPTIONS_MAX)
			return "a Connection header with too many names";
		reading->wants_upgrade |= qsb__http_is_word(option, "upgrade");
	}
	return NULL;
}

static const char *read_upgrade(struct reading *reading, struct qsb__http_text list)
{
	struct qsb__http_text protocol;

	while (qsb__http_list_cut(&list, &protocol)) {
		reading->names_protocol |= protocol.size > 0;
		reading->refuses_protocol |= qsb__http_begins(protocol, "h2") || qsb__http_begins(protocol, "http") ||
					     qsb__http_begins(protocol, "tls");
	}
	return NULL;
}

/* Some servers read '_' as '-': such a name would be a second header that we do not see. */
static bool is_disguised(struct qsb__http_text name)
{
	static const char *const framing[] = {"content-length", "transfer-encoding"};

	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++) {
		size_t at = 0;

		if (name.size != strlen(framing[i]) || !memchr(name.at, '_', name.size))
			continue;
		while (at < name.size &&
		       ((name.at[at] | 0x20) == framing[i][at] || (name.at[at] == '_' && framing[i][at] == '-')))
			at++;
		if (at == name.size)
			return true;
	}
	return false;
}

static const char *read_field(struct reading *reading, const struct qsb__http_field *field)
{
	static const struct {
		const char *name;
		const char *(*read)(struct reading *, struct qsb__http_text);
	} known[] = {
		{"host", read_host},
		{"content-length", read_length},
		{"transfer-encoding", read_coding},
		{"connection", read_connection},
		{"upgrade", read_upgrade},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (qsb__http_is_word(field->name, known[i].name))
			return known[i].read(reading, field->value);
	return is_disguised(field->name) ? "a header name that is Content-Length or Transfer-Encoding in disguise"
					 : NULL;
}

/* The Host header and the target must speak of one server. CONNECT's own port counts: many leave it out of Host. */
static const char *judge_host(struct reading *reading)
{
	struct qsb__http_head *out = reading->out;
	unsigned said = reading->port, meant = out->port;

	if (!reading->has_host)
		return out->minor == 0 ? NULL : "no Host header";
	if (out->form == QSB__HTTP_ORIGIN || out->form == QSB__HTTP_ASTERISK) {
		memcpy(out->host, reading->host, sizeof(out->host));
		out->port = reading->port;
		return NULL;
	}
	if (!said)
		said = reading->is_connect ? meant : 80;
	if (!meant)
		meant = 80;
	if (strcmp(reading->host, out->host) != 0 || said != meant)
		return "a Host header that differs from the target";
	return NULL;
}

static const char *judge(struct reading *reading)
{
	struct qsb__http_head *out = reading->out;

	if (out->chunked && out->has_length)
		return "both Content-Length and Transfer-Encoding";
	if (reading->is_connect && (out->chunked || out->length > 0))
		return "CONNECT with a body";
	out->upgrade = reading->wants_upgrade && reading->names_protocol && !reading->refuses_protocol &&
		       out->minor == 1 && !reading->is_connect;
	return judge_host(reading);
}

static enum qsb__parse refuse(struct qsb__http_head *out, const char *why)
{
	out->why = why;
	if (!out->status)
		out->status = 400;
	out->host[0] = '\0';
	return QSB__PARSE_BAD;
}

/* Not whole: it may become so, unless it is too large already. */
static enum qsb__parse more(struct qsb__http_head *out, bool in_request_line, size_t length)
{
	if (length < QSB__HTTP_HEAD_MAX)
		return QSB__PARSE_MORE;
	out->status = in_request_line ? 414 : 431;
	return refuse(out, in_request_line ? "a request line that is too long" : "a request head that is too large");
}

enum qsb__parse qsb__http_head_parse(const char *bytes, size_t length, struct qsb__http_head *out)
{
	struct qsb__http_text rest = {bytes, length < QSB__HTTP_HEAD_MAX ? length : QSB__HTTP_HEAD_MAX}, line;
	struct reading reading = {.out = out};
	struct qsb__http_field field;
	const char *why = NULL;
	enum qsb__parse cut;

	memset(out, 0, sizeof(*out));
	cut = qsb__http_line_cut(&rest, &line, &why);
	if (cut != QSB__PARSE_DONE)
		return cut == QSB__PARSE_BAD ? refuse(out, why) : more(out, true, length);
	if (!qsb__http_request_line_read(line, out))
		return refuse(out, out->why);
	reading.is_connect = out->form == QSB__HTTP_AUTHORITY;
	while ((cut = qsb__http_line_cut(&rest, &line, &why)) == QSB__PARSE_DONE && line.size > 0) {
		why = qsb__http_field_read(line, &field);
		if (!why)
			why = read_field(&reading, &field);
		if (why)
			return refuse(out, why);
	}
	if (cut != QSB__PARSE_DONE)
		return cut == QSB__PARSE_BAD ? refuse(out, why) : more(out, false, length);
	out->size = (size_t)(rest.at - bytes);
	why = judge(&reading);
	return why ? refuse(out, why) : QSB__PARSE_DONE;
}
