/* SPDX-License-Identifier: MIT */
/*
 * From the kernel's counters to figures.  The CPU time of a thread is what the scheduler charges
 * it: without interrupt time accounting, softirqs on top of it are in it.
 */
#include <string.h>

#include "flood.h"

int sirq_kernel_sample_take(struct sirq_kernel_sample *sample, const struct sirq_kernel_cell *cell,
                            unsigned cpu, struct sirq_error *err)
{
    int rc;

    *sample = (struct sirq_kernel_sample){.wall_ns = sirq_lab_now_ns(),
                                          .offered = sirq_sender_offered(&cell->sender)};
    for (unsigned i = 0; i < cell->group.n; i++) {
        sample->received[i] = sirq_kernel_receiver_count(&cell->group.receiver[i]);
        sample->cpu_ns[i] = sirq_lab_thread_cpu_ns(cell->group.receiver[i].thread);
    }
    if (cell->knobs.ksoftirqd)
        sample->ksoftirqd_ns = sirq_kernel_thread_ns(cell->knobs.ksoftirqd);
    for (unsigned i = 0; i < cell->knobs.n_napi; i++)
        sample->napi_ns += sirq_kernel_thread_ns(cell->knobs.napi[i]);
    sample->busy_ns = sirq_lab_cpu_busy_ns(cpu);
    rc = sirq_kernel_counters_read(&sample->count, "/proc", cpu);
    return rc ? sirq_fail(err, -rc, "--world kernel: counters in /proc: %s", strerror(-rc)) : 0;
}

static double percent(uint64_t begin, uint64_t end, double seconds)
{
    return end > begin ? (double)(end - begin) / 1e7 / seconds : 0;
}

static void add_receivers(struct sirq_row *row, const struct sirq_kernel_cell *cell,
                          const struct sirq_kernel_sample *begin,
                          const struct sirq_kernel_sample *end, double seconds)
{
    double all = 0;

    for (unsigned i = 0; i < cell->group.n; i++) {
        double rate = (double)(end->received[i] - begin->received[i]) / seconds;
        double cpu = percent(begin->cpu_ns[i], end->cpu_ns[i], seconds);

        all += rate;
        if (cell->group.n == 1) {
            sirq_row_add(row, "percent", cpu, "receiver_cpu");
        } else {
            sirq_row_add(row, "packets/s", rate, "receiver%u_rate", i + 1);
            sirq_row_add(row, "percent", cpu, "receiver%u_cpu", i + 1);
        }
    }
    sirq_row_add(row, "packets/s", all, "receiver_rate");
}

/* What ran beside us, at least: softirqs on top of a receiver are taken off twice. */
static void add_others(struct sirq_row *row, const struct sirq_kernel_cell *cell,
                       const struct sirq_kernel_sample *begin, const struct sirq_kernel_sample *end)
{
    double wall = (double)(end->wall_ns - begin->wall_ns);
    double ksoftirqd = (double)(end->ksoftirqd_ns - begin->ksoftirqd_ns);
    double irq = (double)(end->count.irq_ns - begin->count.irq_ns) - ksoftirqd;
    double others = (double)(end->busy_ns - begin->busy_ns) - ksoftirqd -
                    (double)(end->napi_ns - begin->napi_ns) - (irq > 0 ? irq : 0);

    for (unsigned i = 0; i < cell->group.n; i++)
        others -= (double)(end->cpu_ns[i] - begin->cpu_ns[i]);
    if (others > wall)
        others = wall;
    sirq_row_add(row, "percent", others > 0 ? 100 * others / wall : 0, "others_cpu");
}

static void add_latency(struct sirq_row *row, const struct sirq_kernel_cell *cell)
{
    struct sirq_hist *all = cell->group.receiver[0].hist;

    if (!all)
        return;
    for (unsigned i = 1; i < cell->group.n; i++)
        sirq_hist_merge(all, cell->group.receiver[i].hist);
    if (!all->count)
        return;
    sirq_row_add(row, "us", (double)sirq_hist_quantile(all, 0.5) / 1e3, "latency_p50");
    sirq_row_add(row, "us", (double)sirq_hist_quantile(all, 0.99) / 1e3, "latency_p99");
}

void sirq_kernel_measure(struct sirq_row *row, const struct sirq_kernel_cell *cell,
                         const struct sirq_kernel_sample *begin,
                         const struct sirq_kernel_sample *end)
{
    const struct sirq_kernel_counters *a = &begin->count, *b = &end->count;
    double seconds = (double)(end->wall_ns - begin->wall_ns) / 1e9;

    sirq_row_add(row, "packets/s", (double)(end->offered - begin->offered) / seconds,
                 "offered_rate");
    add_receivers(row, cell, begin, end, seconds);
    if (cell->knobs.ksoftirqd)
        sirq_row_add(row, "percent", percent(begin->ksoftirqd_ns, end->ksoftirqd_ns, seconds),
                     "ksoftirqd_cpu");
    if (cell->knobs.n_napi)
        sirq_row_add(row, "percent", percent(begin->napi_ns, end->napi_ns, seconds), "napi_cpu");
    sirq_row_add(row, "percent", percent(a->irq_ns, b->irq_ns, seconds), "irq_cpu");
    sirq_row_add(row, "packets", (double)((b->device_lost - a->device_lost) * cell->datagrams),
                 "nic_drops");
    sirq_row_add(row, "packets", (double)(b->backlog_dropped - a->backlog_dropped),
                 "backlog_drops");
    sirq_row_add(row, "packets", (double)(b->udp_socket_full - a->udp_socket_full), "socket_drops");
    sirq_row_add(row, "cycles", (double)(b->squeezed - a->squeezed), "time_squeeze");
    add_latency(row, cell);
    add_others(row, cell, begin, end);
}

double sirq_kernel_limit_of(const struct sirq_row *row)
{
    double rate = 0, used = 0, cpu;
    char name[32];

    sirq_row_get(row, "receiver_rate", &rate);
    if (sirq_row_get(row, "napi_cpu", &cpu))
        used += cpu;
    if (sirq_row_get(row, "receiver_cpu", &cpu))
        used += cpu;
    for (unsigned i = 1; i <= SIRQ_LAB_RECEIVERS; i++) {
        snprintf(name, sizeof(name), "receiver%u_cpu", i);
        if (sirq_row_get(row, name, &cpu))
            used += cpu;
    }
    return used > 0 ? 100 * rate / used : 0;
}
