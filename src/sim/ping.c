/* SPDX-License-Identifier: MIT */
/* See ping.h. */
#define SIRQ_SIM_PRIVATE
#include "ping.h"

#include <errno.h>
#include <stdlib.h>

struct answer {
    struct sirq_source source;
    struct sirq_sim_ping *ping;
};

static struct sirq_sim_ping *ping_of(struct sirq_source *source)
{
    return SIRQ_CONTAINER(source, struct sirq_sim_ping, ask);
}

static struct sirq_sim_ping *ping_of_answer(struct sirq_source *source)
{
    return SIRQ_CONTAINER(source, struct answer, source)->ping;
}

/* The next request leaves at `time`, which is not in the past.  The NIC has been advanced. */
static void ask_at(struct sirq_sim_ping *ping, uint64_t time)
{
    sirq_evq_cancel(&ping->sim->evq, &ping->timer);
    if (time >= ping->stop_ns)
        return;
    sirq_nic_source_at(&ping->ask, time);
    if (ping->interval_ns == 0)
        sirq_evq_add(&ping->sim->evq, &ping->timer, time + ping->timeout_ns);
}

static void ask_sent(struct sirq_source *source, bool lost)
{
    struct sirq_sim_ping *ping = ping_of(source);

    (void)lost;
    ping->asked_ns[ping->asked++ % SIM_PINGS] = source->next;
    source->number = (uint32_t)ping->asked;
    source->next = ping->interval_ns != 0 && source->next + ping->interval_ns < ping->stop_ns
                       ? source->next + ping->interval_ns
                       : UINT64_MAX;
}

/* No answer came: another try. */
static void timer_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_ping *ping = SIRQ_CONTAINER(event, struct sirq_sim_ping, timer);

    sirq_nic_advance(ping->ask.ring->nic);
    ask_at(ping, now);
}

static void ask_out(struct sirq_source *source, const uint8_t *frame, uint32_t number,
                    uint64_t time)
{
    struct sirq_sim_ping *ping = ping_of(source);
    uint64_t full = sirq_far_full(ping->heard, number);
    uint64_t due = time + ping->there_ns;

    assert(full >= ping->heard && full < ping->asked);
    ping->reached++;
    if (ping->answers - ping->told == SIM_PINGS)
        return; /* more than it can remember: it does not answer */
    ping->heard = full + 1;
    sirq_far_answers(ping->answer, frame);
    ping->due_ns[ping->answers % SIM_PINGS] = due;
    ping->due_number[ping->answers % SIM_PINGS] = number;
    if (ping->answers++ == ping->told) {
        ping->answer->number = number;
        sirq_nic_source_at(ping->answer, due);
    }
}

static void answer_sent(struct sirq_source *source, bool lost)
{
    struct sirq_sim_ping *ping = ping_of_answer(source);
    uint64_t time = source->next;

    (void)lost;
    source->next = UINT64_MAX;
    if (++ping->told == ping->answers)
        return;
    source->number = ping->due_number[ping->told % SIM_PINGS];
    source->next = ping->due_ns[ping->told % SIM_PINGS];
    if (source->next < time)
        source->next = time;
}

static void answer_out(struct sirq_source *source, const uint8_t *frame, uint32_t number,
                       uint64_t time)
{
    struct sirq_sim_ping *ping = ping_of_answer(source);
    uint64_t full = sirq_far_full(ping->seen, number), here = time + ping->back_ns;

    assert(full >= ping->seen && full < ping->heard);
    ping->seen = full + 1;
    ping->answered++;
    sirq_far_answers(&ping->ask, frame);
    if (ping->asked - full <= SIM_PINGS && ping->fn != NULL)
        ping->fn(ping->arg, here - ping->asked_ns[full % SIM_PINGS]);
    if (ping->interval_ns == 0 && full + 1 == ping->asked && ping->ask.next == UINT64_MAX)
        ask_at(ping, here);
}

struct sirq_sim_ping *sirq_ping_new(struct sirq_sim *sim)
{
    struct sirq_sim_ping *ping = calloc(1, sizeof(*ping));

    if (ping == NULL || sirq_evq_reserve(&sim->evq, 1) != 0) {
        free(ping);
        return NULL;
    }
    ping->sim = sim;
    ping->timer.fn = timer_event;
    ping->ask.next = UINT64_MAX;
    ping->ask.bytes = sizeof(*ping);
    ping->ask.sent = ask_sent;
    ping->ask.out = ask_out;
    return ping;
}

int sirq_ping_connect(struct sirq_sim_ping *ping, const struct sirq_far_way *way,
                      const struct sirq_far_way *back, uint32_t len, uint64_t start_ns)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    int rc;

    if (answer == NULL)
        return -ENOMEM;
    answer->ping = ping;
    answer->source.next = UINT64_MAX;
    answer->source.bytes = sizeof(*answer);
    answer->source.sent = answer_sent;
    answer->source.out = answer_out;
    ping->answer = &answer->source;
    rc = sirq_far_connect(&answer->source, back, len);
    if (rc != 0) {
        free(answer);
        return rc;
    }
    rc = sirq_far_connect(&ping->ask, way, len);
    if (rc == 0)
        ask_at(ping, start_ns > ping->sim->now ? start_ns : ping->sim->now);
    return rc;
}
