/*
 * Feeds every file of a corpus folder to one fuzzer, and to each of them a few thousand small changes, always the same
 * ones: what a fuzzer once found must stay mended, on every machine, in the ordinary test run. Prints TAP.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST_INPUT = 1 << 16, CHANGED_BYTES = 512 };

struct input {
	uint8_t *bytes;
	size_t size;
};

static void close_stream(FILE **stream)
{
	if (*stream)
		fclose(*stream);
}

static int read_input(const char *path, struct input *input)
{
	QSB_CLEANUP(close_stream) FILE *stream = fopen(path, "rb");

	if (!stream)
		return -1;
	input->size = fread(input->bytes, 1, LARGEST_INPUT, stream);
	return ferror(stream) ? -1 : 0;
}

/* A copy of the exact size, so that a read past the end is a read past a heap block, which the sanitizer sees. */
static void feed(const uint8_t *bytes, size_t size)
{
	QSB_CLEANUP_FREE uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
}

static void feed_changes(const struct input *input)
{
	static const uint8_t values[] = {0x00, '"', '*', '[', '/', '\\', '9', 0x80, 0xFF};
	size_t end = input->size < CHANGED_BYTES ? input->size : CHANGED_BYTES;

	for (size_t length = 0; length < end; length++)
		feed(input->bytes, length);
	for (size_t at = 0; at < end; at++) {
		uint8_t kept = input->bytes[at];

		for (size_t i = 0; i < sizeof(values); i++) {
			input->bytes[at] = values[i];
			feed(input->bytes, input->size);
		}
		input->bytes[at] = kept;
	}
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	struct input input = {.bytes = malloc(LARGEST_INPUT)};
	int count = argc == 2 ? scandir(argv[1], &entries, is_input, alphasort) : -1;
	int failures = 0;

	if (count <= 0 || !input.bytes) {
		printf("Bail out! %s: no corpus\n", argc == 2 ? argv[1] : "usage: replay FOLDER");
		return 1;
	}
	printf("1..%d\n", 2 * count);
	for (int i = 0; i < count; i++) {
		char path[4096];
		bool readable;

		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		/* Said before, since a fault ends this program. */
		printf("# %s\n", path);
		fflush(stdout);
		readable = read_input(path, &input) == 0;
		failures += !readable;
		if (readable)
			feed(input.bytes, input.size);
		printf("%sok %d - %s\n", readable ? "" : "not ", 2 * i + 1, entries[i]->d_name);
		if (readable)
			feed_changes(&input);
		printf("ok %d - small changes of %s\n", 2 * i + 2, entries[i]->d_name);
		fflush(stdout);
		free(entries[i]);
	}
	free(entries);
	free(input.bytes);
	return failures ? 1 : 0;
}
