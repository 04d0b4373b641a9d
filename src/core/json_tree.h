/*
 * Strict JSON from strangers, read in place: small, shallow, UTF-8, no duplicate key, no comment, nothing behind it.
 *
 * Policies are read with this and not with Jansson, which takes about 10 ms for a policy of 10,000 rules, five times
 * what the start of a sandbox takes; here it is a part of one. Jansson judges it in the fuzzer: both must accept and
 * refuse the same texts.
 */
#ifndef QSB_CORE_JSON_TREE_H
#define QSB_CORE_JSON_TREE_H

#include <stdint.h>
#include <stddef.h>

#include <qiming/sandbox.h>

enum { QSB__JSON_MAX = 1 << 20, QSB__JSON_DEPTH_MAX = 32, QSB__JSON_KEYS_MAX = 2048 };

enum qsb__json_kind {
	QSB__JSON_NULL,
	QSB__JSON_FALSE,
	QSB__JSON_TRUE,
	QSB__JSON_INTEGER,
	QSB__JSON_REAL,
	QSB__JSON_STRING,
	QSB__JSON_ARRAY,
	QSB__JSON_OBJECT
};

struct qsb__json_node {
	const char *key; /* in an object: without a NUL inside; NULL in an array and for the root */
	union {
		const char *text; /* STRING: without a NUL inside */
		int64_t integer;
		double real;
		uint32_t count; /* ARRAY, OBJECT: the children follow, each with all of its own */
	} is;
	uint32_t next; /* the number of the next node that is not inside this one */
	uint8_t kind;
};

/* The nodes in the order of the text: the root is the first. The strings lie in the text that was parsed. */
struct qsb__json_tree {
	struct qsb__json_node *nodes;
	size_t count;
};

/*
 * Parses the `length` bytes at `text`, with a NUL behind them. They are changed and must outlive the tree's strings.
 * `source` names the text in messages. A failure's `where` is the JSON pointer of the place, and the message has it
 * too, with line and column. The caller clears the tree, also after a failure.
 */
int qsb__json_tree_parse(struct qsb__json_tree *tree, char *text, size_t length, const char *source,
			 struct qsb_error *err);
void qsb__json_tree_clear(struct qsb__json_tree *tree);

#endif
