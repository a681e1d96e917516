/* SPDX-License-Identifier: MIT */
/*
 * From counters to figures.
 *
 * A receiver's CPU time comes twice: as the scheduler charged it, read from outside at the
 * two ends, and the part that softirqs took on top of it, which only the thread itself can
 * tell.  A receiver that did not come out of its receive call in all that time has had
 * nothing for itself: all it was charged went to softirqs.
 */
#include "measure.h"

static void add_usage(struct sirq_sample *sample, struct sirq_live *live, unsigned cpu)
{
    struct sirq_live_usage usage;

    if (sirq_live_usage(live, cpu, &usage))
        return;
    sample->ksoftirqd_ns += usage.ksoftirqd_ns;
    sample->irq_thread_ns += usage.irq_thread_ns;
}

void sirq_sample_take(struct sirq_sample *sample, const struct sirq_receivers *group)
{
    const struct sirq_rig *rig = group->rig;
    unsigned flooded = rig->session->cpus.flooded;

    *sample = (struct sirq_sample){.wall_ns = sirq_lab_now_ns()};
    for (unsigned i = 0; i < group->n; i++) {
        sample->received[i] = sirq_receiver_count(&group->receiver[i]);
        sample->cpu_ns[i] = sirq_lab_thread_cpu_ns(group->receiver[i].thread);
    }
    add_usage(sample, rig->live, flooded);
    if (rig->irq_cpu != flooded)
        add_usage(sample, rig->live, rig->irq_cpu);
    sample->busy_ns = sirq_lab_cpu_busy_ns(flooded);
    sirq_account_read(&sample->account, group);
}

/* Part of the time between its edges that softirqs took on top of the receiver. */
static double softirq_share(const struct sirq_receiver *r, double charged, double seconds)
{
    uint64_t wall = r->edge[1].wall_ns - r->edge[0].wall_ns;
    double share;

    if ((double)wall / 1e9 < seconds / 2)
        return charged;
    share = (double)(r->edge[1].usage.softirq_ns - r->edge[0].usage.softirq_ns) / (double)wall;
    return share < charged ? share : charged;
}

static void add_named(struct sirq_row *row, unsigned n, unsigned i, const char *unit,
                      const char *name, double value)
{
    if (n == 1)
        sirq_row_add(row, unit, value, "receiver_%s", name);
    else
        sirq_row_add(row, unit, value, "receiver%u_%s", i + 1, name);
}

static void add_receivers(struct sirq_row *row, const struct sirq_receivers *group,
                          const struct sirq_sample *begin, const struct sirq_sample *end)
{
    double seconds = (double)(end->wall_ns - begin->wall_ns) / 1e9, all = 0, on_top = 0;
    unsigned n = group->n;

    for (unsigned i = 0; i < n; i++) {
        double rate = (double)(end->received[i] - begin->received[i]) / seconds;
        double charged = (double)(end->cpu_ns[i] - begin->cpu_ns[i]) / 1e9 / seconds;
        double softirq = softirq_share(&group->receiver[i], charged, seconds);

        all += rate;
        on_top += softirq;
        if (n > 1)
            add_named(row, n, i, "packets/s", "rate", rate);
        add_named(row, n, i, "percent", "cpu", 100 * charged);
        add_named(row, n, i, "percent", "own_cpu", 100 * (charged - softirq));
    }
    sirq_row_add(row, "packets/s", all, "receiver_rate");
    on_top += (double)(end->irq_thread_ns - begin->irq_thread_ns) / 1e9 / seconds;
    sirq_row_add(row, "percent", 100 * on_top, "irq_cpu");
    sirq_row_add(row, "percent", (double)(end->ksoftirqd_ns - begin->ksoftirqd_ns) / 1e7 / seconds,
                 "ksoftirqd_cpu");
}

static void add_drops(struct sirq_row *row, const struct sirq_account *begin,
                      const struct sirq_account *end)
{
    uint64_t drops[SIRQ_NR_DROPS],
        nic = end->dev.rx_dropped - begin->dev.rx_dropped + (end->lost - begin->lost);

    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        drops[i] = end->net.verdict[i] - begin->net.verdict[i];
    sirq_row_add(row, "packets", (double)nic, "nic_drops");
    sirq_row_add(row, "packets",
                 (double)(drops[SIRQ_DROP_SOCKET_FULL] + drops[SIRQ_DROP_NO_BUFFER]),
                 "socket_drops");
    for (unsigned i = SIRQ_DELIVERED + 1; i < SIRQ_NR_DROPS; i++) {
        if (drops[i])
            sirq_row_add(row, "packets", (double)drops[i], "drop_%s",
                         sirq_drop_name((enum sirq_drop)i));
    }
}

static void add_latency(struct sirq_row *row, const struct sirq_receivers *group)
{
    struct sirq_hist *all = group->receiver[0].hist;

    if (!all)
        return;
    for (unsigned i = 1; i < group->n; i++)
        sirq_hist_merge(all, group->receiver[i].hist);
    if (!all->count)
        return;
    sirq_row_add(row, "us", (double)sirq_hist_quantile(all, 0.5) / 1e3, "latency_p50");
    sirq_row_add(row, "us", (double)sirq_hist_quantile(all, 0.99) / 1e3, "latency_p99");
}

/* What ran on the flooded CPU beside us. */
static void add_others(struct sirq_row *row, const struct sirq_receivers *group,
                       const struct sirq_sample *begin, const struct sirq_sample *end)
{
    double wall = (double)(end->wall_ns - begin->wall_ns);
    double others = (double)(end->busy_ns - begin->busy_ns);

    for (unsigned i = 0; i < group->n; i++)
        others -= (double)(end->cpu_ns[i] - begin->cpu_ns[i]);
    if (group->rig->irq_cpu == group->rig->session->cpus.flooded)
        others -= (double)(end->ksoftirqd_ns - begin->ksoftirqd_ns);
    others -= (double)(end->irq_thread_ns - begin->irq_thread_ns);
    if (others > wall) /* busy_ns goes in steps of 10 ms */
        others = wall;
    sirq_row_add(row, "percent", others > 0 ? 100 * others / wall : 0, "others_cpu");
}

void sirq_measure_row(struct sirq_row *row, const struct sirq_receivers *group,
                      const struct sirq_sample *begin, const struct sirq_sample *end)
{
    double seconds = (double)(end->wall_ns - begin->wall_ns) / 1e9;

    sirq_row_add(row, "packets/s",
                 (double)(end->account.offered - begin->account.offered) / seconds, "offered_rate");
    add_receivers(row, group, begin, end);
    add_drops(row, &begin->account, &end->account);
    add_latency(row, group);
    add_others(row, group, begin, end);
}
