/* SPDX-License-Identifier: MIT */
/* Kept inputs, run as a test: files, and all files of folders. */
#ifndef SIRQ_TESTS_FUZZ_REPLAY_H
#define SIRQ_TESTS_FUZZ_REPLAY_H

#include <dirent.h>
#include <stdio.h>

/* Of the target that includes this, which also defines CHECK(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many files that were. */
static unsigned replay(const char *path)
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
        files += replay(inner);
    }
    closedir(dir);
    return files;
}

#endif
