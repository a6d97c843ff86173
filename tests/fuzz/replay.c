// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target on files: those named, or else all of its corpus, which
 * is found by the program's name, replay_TARGET.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define MAX_BYTES (1 << 20)

static int replay(const char *path)
{
	static uint8_t data[MAX_BYTES];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	/* Told before, so that it is the last line when the target aborts. */
	fprintf(stderr, "%s: %zu bytes\n", path, size);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

static int replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int failed = 0, nr = 0;
	char path[4096];

	if (!dir) {
		perror(folder);
		return 1;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		failed |= replay(path);
		nr++;
	}
	closedir(dir);
	printf("%d files of %s\n", nr, folder);
	return failed || !nr;
}

static int replay_corpus(const char *program)
{
	const char *srcdir = getenv("srcdir");
	const char *target = strstr(program, "replay_");
	char folder[2048];

	if (!target)
		return 1;
	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s",
		 srcdir ? srcdir : ".", target + strlen("replay_"));
	return replay_folder(folder);
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 1)
		return replay_corpus(argv[0]);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
