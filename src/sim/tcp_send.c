/* SPDX-License-Identifier: MIT */
/* Sending: a task does, and notes are frames that arrive.  See tcp.h. */
#define SIRQ_SIM_PRIVATE
#include "tcp.h"

#define HEADERS 42u /* Ethernet, IPv4, UDP */

/* The first note that has not left: when its frame wants the line. */
void sirq_tcp_ack_source(struct sirq_sim_tcp *tcp)
{
    uint64_t now = tcp->sim->now, next = UINT64_MAX;

    if (tcp->note_out != tcp->note_tail)
        next = sirq_tcp_note_at(tcp, tcp->note_out)->time;
    if (tcp->ack->next > now && tcp->ack->next != next)
        sirq_nic_source_at(tcp->ack, next > now ? next : now);
}

void sirq_tcp_ack_sent(struct sirq_sim_tcp *tcp, bool is_lost)
{
    struct sirq_source *ack = tcp->ack;
    uint64_t time = ack->next;

    sirq_tcp_note_at(tcp, tcp->note_out++)->dropped = is_lost;
    ack->number = (uint32_t)tcp->note_out;
    ack->next = UINT64_MAX;
    if (tcp->note_out != tcp->note_tail) {
        ack->next = sirq_tcp_note_at(tcp, tcp->note_out)->time;
        if (ack->next < time)
            ack->next = time;
    }
}

static void ack_sent(struct sirq_source *source, bool is_lost)
{
    sirq_tcp_ack_sent(sirq_tcp_of(source), is_lost);
}

static bool task_may_go_on(const struct sirq_sim_tcp *tcp)
{
    return sirq_tcp_may_send(tcp) > 0 ||
           (!tcp->wants && sirq_tcp_inflight(tcp) + tcp->holes + tcp->owed == 0);
}

static void ack_taken(struct sirq_source *source, bool is_delivered)
{
    struct sirq_sim_tcp *tcp = sirq_tcp_of(source);
    bool more = true;

    (void)is_delivered;
    tcp->acks++;
    while (more) { /* those whose frame was lost, and this one */
        more = sirq_tcp_note_at(tcp, tcp->note_head)->dropped;
        sirq_tcp_note(tcp, sirq_tcp_note_at(tcp, tcp->note_head++), tcp->sim->now);
    }
    if (tcp->waiting && task_may_go_on(tcp))
        sirq_ring_unsettled(source);
}

static void ack_settle(struct sirq_source *source, struct sirq_cpu *cpu)
{
    sirq_wake(cpu, &sirq_tcp_of(source)->wq);
}

void sirq_tcp_sends(struct sirq_sim_tcp *tcp)
{
    tcp->framed = true;
    tcp->ack = &tcp->source;
    tcp->source.control = true;
    tcp->source.sent = ack_sent;
    tcp->source.taken = ack_taken;
    tcp->source.settle = ack_settle;
}

static void transmit(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp)
{
    struct sirq_sim_nic *nic = tcp->source.ring->nic;
    uint64_t ser_ps = sirq_line_ser_ps(&nic->tx, tcp->mss + HEADERS), time, seq;

    sirq_charge(task->vcpu->cpu, SIRQ_COST_TX, 1);
    sirq_nic_advance(nic);
    if (sirq_tcp_inflight(tcp) + tcp->holes == 0)
        tcp->progress_ns = tcp->sim->now;
    seq = sirq_tcp_number(tcp, tcp->sim->now);
    if (sirq_line_when(&nic->tx, tcp->sim->now, ser_ps, &time)) {
        sirq_line_pass(&nic->tx, tcp->sim->now, ser_ps);
        sirq_tcp_pass_losses(tcp);
        sirq_tcp_arrived(tcp, seq, time);
        sirq_tcp_ack_source(tcp);
    } else {
        nic->tx.dropped++;
        sirq_tcp_lose(tcp, seq);
    }
    sirq_tcp_timer_arm(tcp);
    sirq_bh_cycle(task->vcpu->cpu); /* the end of the transmit path's own section */
}

static void send_or_wait(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp)
{
    if (sirq_tcp_may_send(tcp) > 0) {
        transmit(task, tcp);
        return;
    }
    tcp->waiting = true;
    task->sim->core.host->wait(task->vcpu->cpu, &tcp->wq, tcp->wq.seq, -1);
    tcp->waiting = false;
}

void sirq_tcp_send(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp, uint64_t segments)
{
    uint64_t until = tcp->data + segments;

    assert(tcp->send && !tcp->sending);
    tcp->sending = tcp->wants = true;
    while (tcp->data < until)
        send_or_wait(task, tcp);
    tcp->sending = tcp->wants = false;
}

void sirq_tcp_flush(struct sirq_sim_task *task, struct sirq_sim_tcp *tcp)
{
    assert(tcp->send && !tcp->sending);
    tcp->sending = true;
    while (sirq_tcp_inflight(tcp) + tcp->holes + tcp->owed > 0)
        send_or_wait(task, tcp);
    tcp->sending = false;
}
