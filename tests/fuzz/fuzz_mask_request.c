/* What the kernel asks of the masks' file system: names in it are the command's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fuse.h>

#include "backend/linux/masks.h"
#include "expect.h"

static const struct qsb__mask masks[] = {{"/home/a/.ssh", "built-in: secrets", true},
					 {"/home/a/.netrc", "/filesystem/denyRead/0 (user)", false},
					 {"/", "built-in: secrets", true}};
static const struct qsb__mask_list list = {
	.list = (struct qsb__mask *)(uintptr_t)masks, .count = 3, .user = 1000, .group = 1000, .time_s = 1};

/* Nothing of a mask is ever opened, looked into or changed. */
static bool may_succeed(const struct fuse_in_header *head)
{
	switch (head->opcode) {
	case FUSE_INIT:
	case FUSE_GETATTR:
	case FUSE_STATFS:
	case FUSE_LISTXATTR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		return true;
	case FUSE_LOOKUP:
	case FUSE_OPENDIR:
	case FUSE_READDIRPLUS:
		return head->nodeid == FUSE_ROOT_ID;
	default:
		return false;
	}
}

static void expect_event(const struct qsb__mask_event *event, const struct fuse_out_header *out)
{
	if (event->wish == QSB__MASK_NOTHING)
		return;
	expect(out->error == -EACCES && event->mask < list.count);
	expect(memchr(event->name, '\0', sizeof(event->name)) != NULL);
}

static void expect_listed(const char *body, size_t length)
{
	for (size_t at = 0; at < length;) {
		struct fuse_direntplus entry;

		expect(length - at >= FUSE_NAME_OFFSET_DIRENTPLUS);
		memcpy(&entry, body + at, FUSE_NAME_OFFSET_DIRENTPLUS);
		at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + entry.dirent.namelen);
		expect(at <= length && entry.entry_out.nodeid - FUSE_ROOT_ID - 1 < list.count);
		expect((entry.entry_out.attr.mode & 07777) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of its exact size, so that reading beyond it is seen. */
	uint8_t *request = calloc(1, size > 0 ? size : 1);
	char *answer = malloc(QSB__MASK_BYTES);
	struct qsb__mask_event event;
	struct fuse_out_header out;
	struct fuse_in_header head;
	size_t length;

	expect(request && answer);
	if (size > 0)
		memcpy(request, data, size);
	length = qsb__mask_answer(&list, request, size, answer, &event);

	if (size >= sizeof(head) && length > 0) {
		memcpy(&head, request, sizeof(head));
		expect(length >= sizeof(out) && length <= QSB__MASK_BYTES);
		memcpy(&out, answer, sizeof(out));
		expect(out.len == length && out.unique == head.unique && out.error <= 0 && out.error > -512);
		expect(out.error == 0 ? may_succeed(&head) : length == sizeof(out));
		expect_event(&event, &out);
		if (out.error == 0 && head.opcode == FUSE_READDIRPLUS)
			expect_listed(answer + sizeof(out), length - sizeof(out));
	} else {
		expect(length == 0 && event.wish == QSB__MASK_NOTHING);
	}
	free(answer);
	free(request);
	return 0;
}
