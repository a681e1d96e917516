/* SPDX-License-Identifier: MIT */
/*
 * See disk.h.  Invariant: held counts the requests in `waiting`, in slots, in `served` and in
 * the hands of the action, and is at most `queue`; who comes when it is full waits outside, and
 * is let in by the completion of another, in the order of coming.
 */
#define SIRQ_SIM_PRIVATE
#include "disk.h"

#include <stdlib.h>

/* Not inlined: a compiler that sees the request's stack does not see that it is off every list
 * before it is gone. */
static __attribute__((noinline)) void fifo_put(struct sirq_disk_fifo *fifo,
                                               struct sirq_disk_request *request)
{
    request->next = NULL;
    if (fifo->first == NULL)
        fifo->first = request;
    else
        fifo->last->next = request;
    fifo->last = request;
}

static struct sirq_disk_request *fifo_take(struct sirq_disk_fifo *fifo)
{
    struct sirq_disk_request *request = fifo->first;

    if (request != NULL)
        fifo->first = request->next;
    return request;
}

/* ---- the device ----------------------------------------------------------------------- */

static void serve(struct sirq_disk_slot *slot, struct sirq_disk_request *request)
{
    struct sirq_sim_disk *disk = slot->disk;
    uint64_t jitter = disk->jitter_ns > 0 ? sirq_rng_below(&disk->rng, disk->jitter_ns + 1) : 0;

    slot->request = request;
    sirq_evq_add(&disk->sim->evq, &slot->event, disk->sim->now + disk->service_ns + jitter);
}

static void slot_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_disk_slot *slot = SIRQ_CONTAINER(event, struct sirq_disk_slot, event);
    struct sirq_sim_disk *disk = slot->disk;
    struct sirq_disk_request *next = fifo_take(&disk->waiting);

    (void)now;
    fifo_put(&disk->served, slot->request);
    slot->request = NULL;
    if (next != NULL)
        serve(slot, next);
    sirq_vcpu_post(disk->vcpu, &disk->line);
}

static void submit(struct sirq_sim_disk *disk, struct sirq_disk_request *request)
{
    disk->requests++;
    for (unsigned i = 0; i < disk->depth; i++) {
        if (disk->slot[i].request == NULL) {
            serve(&disk->slot[i], request);
            return;
        }
    }
    fifo_put(&disk->waiting, request);
}

/* ---- interrupt and BLOCK -------------------------------------------------------------- */

static void disk_handler(struct sirq_vcpu *vcpu, struct sirq_vline *line)
{
    SIRQ_CONTAINER(line, struct sirq_sim_disk, line)->raised = vcpu->cpu;
    sirq_raise(vcpu->cpu, SIRQ_BLOCK);
}

/* Time passes, and another CPU's action may be at the same list: the request is off it. */
static void complete(struct sirq_cpu *cpu, struct sirq_sim_disk *disk,
                     struct sirq_disk_request *request)
{
    struct sirq_disk_request *outside;
    uint64_t latency;

    sirq_charge(cpu, SIRQ_COST_BLK_DONE, 1);
    latency = disk->sim->now - request->begin_ns;
    disk->completed++;
    disk->latency_ns += latency;
    if (latency > disk->latency_ns_max)
        disk->latency_ns_max = latency;
    request->done = true;
    sirq_wake(cpu, &request->wq); /* its memory is the task's again */
    outside = fifo_take(&disk->outside);
    if (outside == NULL) {
        disk->held--;
        return;
    }
    outside->admitted = true; /* in the place of the other: held stays */
    sirq_wake(cpu, &outside->wq);
}

/*
 * What is there now and no more: what is served meanwhile interrupts and raises the vector once
 * more.  When the disk's interrupts go to another CPU meanwhile, the vector is pending on this one
 * still, and on that one once there has been an interrupt.
 */
void sirq_disk_action(struct sirq_cpu *cpu, void *data)
{
    const struct sirq_sim *sim = data;

    for (struct sirq_sim_disk *disk = sim->disks; disk != NULL; disk = disk->next) {
        struct sirq_disk_fifo now = disk->served;
        struct sirq_disk_request *request;

        if (disk->raised != cpu)
            continue;
        disk->served.first = NULL;
        while ((request = fifo_take(&now)) != NULL)
            complete(cpu, disk, request);
    }
}

/* ---- the task ------------------------------------------------------------------------- */

static void wait_for(struct sirq_sim_task *task, struct sirq_disk_request *request,
                     const bool *flag)
{
    const struct sirq_host *host = task->sim->core.host;

    while (!*flag)
        host->wait(task->vcpu->cpu, &request->wq, request->wq.seq, -1);
}

void sirq_disk_read(struct sirq_sim_task *task, struct sirq_sim_disk *disk)
{
    struct sirq_disk_request request = {.wq.eventfd = -1, .begin_ns = task->sim->now};

    assert(task->sim == disk->sim && task->sim->running != NULL &&
           task->sim->running->curr == task);
    if (disk->held == disk->queue) {
        disk->full++;
        fifo_put(&disk->outside, &request);
        wait_for(task, &request, &request.admitted);
    } else {
        disk->held++;
    }
    submit(disk, &request);
    wait_for(task, &request, &request.done);
}

/* ---- life ----------------------------------------------------------------------------- */

struct sirq_sim_disk *sirq_disk_new(struct sirq_sim *sim, unsigned depth)
{
    struct sirq_sim_disk *disk = calloc(1, sizeof(*disk));
    unsigned n = 0;

    if (disk == NULL)
        return NULL;
    if (sirq_evq_reserve(&sim->evq, depth) != 0) {
        free(disk);
        return NULL;
    }
    for (const struct sirq_sim_disk *other = sim->disks; other != NULL; other = other->next)
        n++;
    disk->sim = sim;
    disk->depth = depth;
    disk->line.handler = disk_handler;
    for (unsigned i = 0; i < depth; i++) {
        disk->slot[i].disk = disk;
        disk->slot[i].event.fn = slot_event;
    }
    sirq_rng_seed(&disk->rng, sirq_rng_next(&sim->rng), n);
    disk->next = sim->disks;
    sim->disks = disk;
    return disk;
}

void sirq_disks_free(struct sirq_sim *sim)
{
    struct sirq_sim_disk *disk;

    while ((disk = sim->disks) != NULL) {
        sim->disks = disk->next;
        free(disk);
    }
}
