/* The first line of an HTTP request. Internal to the HTTP parser. */
#ifndef QSB_BROKER_HTTP_TARGET_H
#define QSB_BROKER_HTTP_TARGET_H

#include "broker/http_head.h"
#include "broker/http_line.h"

/* Reads "METHOD target HTTP/1.x", the first line of the bytes: fills in form, host, port, minor and the places. False:
 * `why` and `status` are filled in. */
bool qsb__http_request_line_read(struct qsb__http_text line, struct qsb__http_head *out);

#endif
