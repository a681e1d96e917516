/* SPDX-License-Identifier: MIT */
/* What every fuzz target has: a check that ends it, and with FUZZ_REPLAY its kept inputs as a
 * test: files, and all files of folders. */
#ifndef SIRQ_TESTS_FUZZ_TARGET_H
#define SIRQ_TESTS_FUZZ_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                    \
    do {                                                               \
        if (!(cond)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
            abort();                                                   \
        }                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZ_REPLAY
#include <dirent.h>

/* How many files that were. */
static unsigned replay_path(const char *path)
{
    static uint8_t data[65536];
    struct dirent *entry;
    unsigned files = 0;
    char inner[4096];
    DIR *dir = opendir(path);
    FILE *file;

    if (dir == NULL) {
        file = fopen(path, "rb");
        CHECK(file != NULL);
        LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
        fclose(file);
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        files += replay_path(inner);
    }
    closedir(dir);
    return files;
}

/* All that the command line names; at least one. */
static unsigned replay(int argc, char **argv)
{
    unsigned files = 0;

    for (int i = 1; i < argc; i++)
        files += replay_path(argv[i]);
    CHECK(files > 0);
    return files;
}
#endif

#endif
