/* What every parser of a client's first bytes answers. */
#ifndef QSB_BROKER_PARSE_H
#define QSB_BROKER_PARSE_H

enum qsb__parse {
	QSB__PARSE_MORE, /* a beginning; more bytes are needed */
	QSB__PARSE_DONE,
	QSB__PARSE_BAD /* never to be passed on */
};

/* A host as it stands in a protocol: its one spelling. Bytes of the text without a NUL. */
enum { QSB__HOST_MAX = 256 };

#endif
