/* SPDX-License-Identifier: MIT */
/* Reads blocks one after the other, as dd: each is waited for, then worked on. */
#include "kind.h"

#include <assert.h>
#include <string.h>

static const void *settings(const struct sirq_spec_threads *spec)
{
    return spec->disk_reader;
}

static int open_reader(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    struct sirq_sim_rig *rig = thread->rig;

    (void)err;
    for (uint32_t i = 0; i < rig->n_disks; i++) {
        if (strcmp(rig->disks[i].spec->name, thread->group->spec->disk_reader->disk) == 0)
            thread->disk = &rig->disks[i];
    }
    assert(thread->disk != NULL); /* the loader has looked */
    return 0;
}

static void read_blocks(struct sirq_sim_thread *thread)
{
    uint64_t work_ns = thread->group->spec->disk_reader->work_ns;
    struct sirq_sim *sim = thread->rig->sim;

    while (!thread->rig->closing) {
        uint64_t start = sirq_sim_now_ns(sim);

        sirq_sim_disk_read(thread->task, thread->disk->sim);
        sirq_sim_record(thread, &thread->latency, sirq_sim_now_ns(sim) - start);
        sirq_sim_record(thread, &thread->disk->latency, sirq_sim_now_ns(sim) - start);
        if (work_ns != 0)
            sirq_sim_spend(sim, work_ns);
        thread->count++;
    }
}

const struct sirq_sim_kind sirq_kind_disk_reader = {
    .name = "disk_reader",
    .settings = settings,
    .open = open_reader,
    .main = read_blocks,
};
