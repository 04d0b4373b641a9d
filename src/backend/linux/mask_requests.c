/*
 * The file system's side of the protocol of <linux/fuse.h>. Nothing of a mask can be opened, listed or looked into; its
 * attributes are those of a file that nobody may do anything with. They never change, so the kernel is told to keep
 * them and asks once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/fuse.h>

#include "backend/linux/masks.h"

enum { MINOR = 31, MOST_WRITTEN = 4096, FOREVER_S = 1 << 30, NAME_LENGTH = 255, BLOCK = 4096, STATX = 52 };
enum { FOLDER_SIZE = 40 }; /* of an empty folder on a tmpfs */

struct exchange {
	const struct qsb__mask_list *masks;
	const struct fuse_in_header *head;
	const char *body;
	size_t length; /* of the body */
	char *answer;  /* its body */
	size_t answer_length;
	struct qsb__mask_event *event;
};

/* Fixed parts must be there in full. */
static const void *take(const struct exchange *exchange, size_t size)
{
	return exchange->length >= size ? exchange->body : NULL;
}

static void *give(struct exchange *exchange, size_t size)
{
	exchange->answer_length = size;
	return memset(exchange->answer, 0, size);
}

static const struct qsb__mask *mask_of(const struct exchange *exchange)
{
	uint64_t node = exchange->head->nodeid;

	return node > FUSE_ROOT_ID && node - FUSE_ROOT_ID - 1 < exchange->masks->count
		       ? &exchange->masks->list[node - FUSE_ROOT_ID - 1]
		       : NULL;
}

static void fill(const struct qsb__mask_list *masks, uint64_t node, struct fuse_attr *attr)
{
	bool is_root = node == FUSE_ROOT_ID, is_dir = is_root || masks->list[node - FUSE_ROOT_ID - 1].is_dir;

	attr->ino = node;
	attr->mode = is_dir ? S_IFDIR | (is_root ? 0700U : 0U) : S_IFREG;
	attr->nlink = is_dir ? 2 : 1;
	attr->size = is_dir ? FOLDER_SIZE : 0;
	attr->uid = masks->user;
	attr->gid = masks->group;
	attr->blksize = BLOCK;
	attr->atime = attr->mtime = attr->ctime = (uint64_t)masks->time_s;
}

static void fill_entry(const struct qsb__mask_list *masks, size_t mask, struct fuse_entry_out *entry)
{
	entry->nodeid = mask + FUSE_ROOT_ID + 1;
	entry->entry_valid = entry->attr_valid = FOREVER_S;
	fill(masks, entry->nodeid, &entry->attr);
}

static int wished(const struct exchange *exchange, enum qsb__mask_wish wish)
{
	const struct qsb__mask *mask = mask_of(exchange);

	if (mask) {
		exchange->event->wish = wish;
		exchange->event->mask = (size_t)(mask - exchange->masks->list);
		exchange->event->thread = (pid_t)exchange->head->pid;
	}
	return EACCES;
}

static int begin(struct exchange *exchange)
{
	/* Later versions have more fields, that are of no use here. */
	const struct {
		uint32_t major, minor, readahead, flags;
	} *offer = take(exchange, sizeof(*offer));
	struct fuse_init_out *out;

	if (!offer)
		return EPROTO;
	out = give(exchange, sizeof(*out));
	out->major = FUSE_KERNEL_VERSION;
	out->minor = MINOR;
	out->flags = offer->flags & (FUSE_DO_READDIRPLUS | FUSE_PARALLEL_DIROPS);
	out->max_write = MOST_WRITTEN;
	out->time_gran = 1;
	return 0;
}

/* A name ends with its zero byte, or with the request. */
static size_t copy_name(const struct exchange *exchange, char *name, size_t size)
{
	size_t length = strnlen(exchange->body, exchange->length);

	if (length >= size)
		length = size - 1;
	memcpy(name, exchange->body, length);
	name[length] = '\0';
	return length;
}

static int look_up(struct exchange *exchange)
{
	char number[24], *end;
	unsigned long mask;

	if (exchange->head->nodeid != FUSE_ROOT_ID) {
		if (copy_name(exchange, exchange->event->name, sizeof(exchange->event->name)) > 0)
			return wished(exchange, QSB__MASK_READ);
		return EACCES;
	}
	/* Only the sandbox's first process ever sees the root. */
	copy_name(exchange, number, sizeof(number));
	mask = strtoul(number, &end, 10);
	if (number[0] < '0' || number[0] > '9' || *end || mask >= exchange->masks->count)
		return ENOENT;
	fill_entry(exchange->masks, mask, give(exchange, sizeof(struct fuse_entry_out)));
	return 0;
}

static int get_attributes(struct exchange *exchange)
{
	struct fuse_attr_out *out;

	if (exchange->head->nodeid != FUSE_ROOT_ID && !mask_of(exchange))
		return ESTALE;
	out = give(exchange, sizeof(*out));
	out->attr_valid = FOREVER_S;
	fill(exchange->masks, exchange->head->nodeid, &out->attr);
	return 0;
}

/* The names of the root with all their attributes: one request instead of one each. */
static int list_root(struct exchange *exchange)
{
	const struct fuse_read_in *in = take(exchange, sizeof(*in));
	size_t room = QSB__MASK_BYTES - sizeof(struct fuse_out_header);

	if (!in || exchange->head->nodeid != FUSE_ROOT_ID)
		return EACCES;
	if (in->size < room)
		room = in->size;
	for (uint64_t i = in->offset; i < exchange->masks->count; i++) {
		char name[24];
		int length = snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
		struct fuse_direntplus entry;
		size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + (size_t)length);
		char *to = exchange->answer + exchange->answer_length;

		if (size > room - exchange->answer_length)
			break;
		memset(&entry, 0, sizeof(entry));
		fill_entry(exchange->masks, i, &entry.entry_out);
		entry.dirent.ino = entry.entry_out.nodeid;
		entry.dirent.off = i + 1;
		entry.dirent.namelen = (uint32_t)length;
		entry.dirent.type = exchange->masks->list[i].is_dir ? S_IFDIR >> 12 : S_IFREG >> 12;
		memset(to, 0, size);
		memcpy(to, &entry, FUSE_NAME_OFFSET_DIRENTPLUS);
		memcpy(to + FUSE_NAME_OFFSET_DIRENTPLUS, name, (size_t)length);
		exchange->answer_length += size;
	}
	return 0;
}

static int open_folder(struct exchange *exchange)
{
	if (exchange->head->nodeid != FUSE_ROOT_ID)
		return wished(exchange, QSB__MASK_LIST);
	give(exchange, sizeof(struct fuse_open_out));
	/* To list it is all that is done with it. */
	exchange->event->more = true;
	return 0;
}

/* access(2) of a mask is a question, and the answer says all; to enter a folder asks the same way. */
static int may_access(const struct exchange *exchange)
{
	const struct fuse_access_in *in = take(exchange, sizeof(*in));
	const struct qsb__mask *mask = mask_of(exchange);

	/* That something is there may be known. */
	if (exchange->head->nodeid == FUSE_ROOT_ID || (in && in->mask == F_OK))
		return 0;
	return in && mask && mask->is_dir && in->mask == X_OK ? wished(exchange, QSB__MASK_ENTER) : EACCES;
}

/* Attributes of its own a mask has none; most would take a right to read to ask for. */
static int get_extended(struct exchange *exchange)
{
	static const char open_to_all[] = "security.";
	const size_t length = sizeof(open_to_all) - 1, start = sizeof(struct fuse_getxattr_in);

	return exchange->length >= start + length && memcmp(exchange->body + start, open_to_all, length) == 0 ? ENODATA
													      : EACCES;
}

static int list_extended(struct exchange *exchange)
{
	const struct fuse_getxattr_in *in = take(exchange, sizeof(*in));

	if (!in)
		return EIO;
	/* Their length was asked for, or themselves. */
	if (in->size == 0)
		give(exchange, sizeof(struct fuse_getxattr_out));
	return 0;
}

static int say_space(struct exchange *exchange)
{
	struct fuse_statfs_out *out = give(exchange, sizeof(*out));

	out->st.bsize = out->st.frsize = BLOCK;
	out->st.namelen = NAME_LENGTH;
	return 0;
}

/* What has no row in here is refused. ENOSYS would tell the kernel to do as if it had been allowed. */
static int perform(struct exchange *exchange)
{
	switch (exchange->head->opcode) {
	case FUSE_INIT:
		return begin(exchange);
	case FUSE_LOOKUP:
		return look_up(exchange);
	case FUSE_GETATTR:
		return get_attributes(exchange);
	case FUSE_OPEN:
		return wished(exchange, QSB__MASK_READ);
	case FUSE_OPENDIR:
		return open_folder(exchange);
	case FUSE_READDIRPLUS:
		return list_root(exchange);
	case FUSE_ACCESS:
		return may_access(exchange);
	case FUSE_GETXATTR:
		return get_extended(exchange);
	case FUSE_LISTXATTR:
		return list_extended(exchange);
	case FUSE_STATFS:
		return say_space(exchange);
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return 0;
	/* Nothing was written, and there are no times of making: then the kernel uses what it has. */
	case FUSE_SYNCFS:
	case STATX:
		return ENOSYS;
	default:
		return EACCES;
	}
}

static bool wants_no_answer(uint32_t operation)
{
	return operation == FUSE_FORGET || operation == FUSE_BATCH_FORGET || operation == FUSE_INTERRUPT;
}

size_t qsb__mask_answer(const struct qsb__mask_list *masks, const void *request, size_t length, void *answer,
			struct qsb__mask_event *event)
{
	const struct fuse_in_header *head = request;
	struct fuse_out_header *out = answer;
	struct exchange exchange = {
		.masks = masks,
		.head = head,
		.answer = (char *)answer + sizeof(*out),
		.event = event,
	};
	int error = EIO;

	event->wish = QSB__MASK_NOTHING;
	event->name[0] = '\0';
	event->more = false;
	if (length < sizeof(*head) || wants_no_answer(head->opcode))
		return 0;
	exchange.body = (const char *)request + sizeof(*head);
	exchange.length = length - sizeof(*head);
	if (head->len == length)
		error = perform(&exchange);
	memset(out, 0, sizeof(*out));
	out->unique = head->unique;
	out->error = -error;
	out->len = (uint32_t)(sizeof(*out) + (error ? 0 : exchange.answer_length));
	return out->len;
}
