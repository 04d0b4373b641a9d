#include "broker/http_target.h"

#include <string.h>

static bool refuse(struct qsb__http_head *out, int status, const char *why)
{
	out->why = why;
	out->status = status;
	return false;
}

static bool is_visible(struct qsb__http_text text)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.at[i] <= 0x20 || text.at[i] >= 0x7F)
			return false;
	return text.size > 0;
}

static bool read_version(struct qsb__http_text version, struct qsb__http_head *out)
{
	const char *at = version.at;
	bool is_http = version.size >= 6 && memcmp(at, "HTTP/", 5) == 0 && at[5] >= '0' && at[5] <= '9';

	if (version.size == 8 && is_http && memcmp(at + 5, "1.", 2) == 0 && (at[7] == '0' || at[7] == '1')) {
		out->minor = (unsigned)(at[7] - '0');
		return true;
	}
	if (is_http && (version.size == 6 || (version.size == 8 && at[6] == '.' && at[7] >= '0' && at[7] <= '9')))
		return refuse(out, 505, "a version of HTTP other than 1.0 and 1.1");
	return refuse(out, 400, "a request line without a version");
}

static bool read_authority(struct qsb__http_text authority, struct qsb__http_head *out)
{
	if (memchr(authority.at, '@', authority.size))
		return refuse(out, 400, "user information in the target");
	if (!qsb__http_authority_parse(authority.at, authority.size, out->host, &out->port))
		return refuse(out, 400, "a target whose host is none");
	return true;
}

static bool read_absolute(struct qsb__http_text target, struct qsb__http_head *out)
{
	const size_t scheme = strlen("http://");
	size_t end = scheme;

	out->form = QSB__HTTP_ABSOLUTE;
	while (end < target.size && target.at[end] != '/' && target.at[end] != '?')
		end++;
	out->path_at = out->target_at + end;
	return read_authority((struct qsb__http_text){target.at + scheme, end - scheme}, out);
}

static bool read_target(struct qsb__http_text method, struct qsb__http_text target, struct qsb__http_head *out)
{
	bool is_connect = method.size == 7 && memcmp(method.at, "CONNECT", 7) == 0;
	bool is_options = method.size == 7 && memcmp(method.at, "OPTIONS", 7) == 0;

	out->target_size = target.size;
	if (!is_visible(target))
		return refuse(out, 400, "a byte that no request target has");
	if (memchr(target.at, '#', target.size))
		return refuse(out, 400, "a fragment in the target");
	if (is_connect) {
		out->form = QSB__HTTP_AUTHORITY;
		if (!read_authority(target, out))
			return false;
		return out->port || refuse(out, 400, "CONNECT without a port");
	}
	if (target.at[0] == '/') {
		out->form = QSB__HTTP_ORIGIN;
		return true;
	}
	if (target.size == 1 && target.at[0] == '*') {
		out->form = QSB__HTTP_ASTERISK;
		return is_options || refuse(out, 400, "a target of * without OPTIONS");
	}
	if (qsb__http_begins(target, "http://"))
		return read_absolute(target, out);
	return refuse(out, 400, "a target that is neither a path nor an http:// URL");
}

bool qsb__http_request_line_read(struct qsb__http_text line, struct qsb__http_head *out)
{
	const char *first = memchr(line.at, ' ', line.size), *last = memrchr(line.at, ' ', line.size);
	struct qsb__http_text method, target, version;

	if (line.size == 0)
		return refuse(out, 400, "an empty line before the request");
	if (!first || first == last)
		return refuse(out, 400, "a request line that is not method, target and version");
	method = (struct qsb__http_text){line.at, (size_t)(first - line.at)};
	target = (struct qsb__http_text){first + 1, (size_t)(last - first) - 1};
	version = (struct qsb__http_text){last + 1, line.size - (size_t)(last - line.at) - 1};
	if (method.size >= QSB__HTTP_METHOD_MAX)
		return refuse(out, 400, "a method that is too long");
	if (!qsb__http_is_token(method))
		return refuse(out, 400, "a method with a byte that no method has");
	out->target_at = method.size + 1;
	return read_version(version, out) && read_target(method, target, out);
}
