/* SPDX-License-Identifier: MIT */
/* Interrupt lines of devices that a user of the simulator brings along. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

static void line_event(struct sirq_event *event, uint64_t now)
{
    struct sirq_sim_line *line = SIRQ_CONTAINER(event, struct sirq_sim_line, event);

    (void)now;
    sirq_vcpu_post(line->vcpu, &line->line);
}

static void line_handler(struct sirq_vcpu *vcpu, struct sirq_vline *vline)
{
    struct sirq_sim_line *line = SIRQ_CONTAINER(vline, struct sirq_sim_line, line);

    if (line->irq != NULL) /* freed meanwhile */
        line->irq->handler(vcpu->cpu, line->irq->data);
}

int sirq_sim_irq_request(struct sirq_sim *sim, unsigned cpu, struct sirq_irq *irq,
                         struct sirq_error *err)
{
    struct sirq_sim_line *line;

    if (cpu >= sim->ncpus || !sim->vcpus[cpu].active)
        return sirq_fail(err, EINVAL, "irq: cpu %u: not one of the %u CPUs that is online", cpu,
                         sim->ncpus);
    if (irq->host != NULL)
        return sirq_fail(err, EBUSY, "irq: it is delivered already");
    line = calloc(1, sizeof(*line));
    if (line == NULL || sirq_evq_reserve(&sim->evq, 1) != 0) {
        free(line);
        return sirq_fail(err, ENOMEM, "irq: out of memory");
    }
    line->line.handler = line_handler;
    line->event.fn = line_event;
    line->vcpu = &sim->vcpus[cpu];
    line->irq = irq;
    line->next = sim->lines;
    sim->lines = line;
    irq->host = line;
    irq->cpu = line->vcpu->cpu;
    return 0;
}

/* The line's memory is the world's: it may be posted still. */
void sirq_sim_irq_free(struct sirq_sim *sim, struct sirq_irq *irq)
{
    struct sirq_sim_line *line = irq->host;

    sirq_evq_cancel(&sim->evq, &line->event);
    line->irq = NULL;
    irq->host = NULL;
    irq->cpu = NULL;
}

void sirq_sim_irq_raise(struct sirq_sim *sim, struct sirq_irq *irq, uint64_t delay_ns)
{
    struct sirq_sim_line *line = irq->host;

    if (!sirq_event_queued(&line->event) && !line->line.posted)
        sirq_evq_add(&sim->evq, &line->event, sim->now + delay_ns);
}
