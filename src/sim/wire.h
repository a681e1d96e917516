/* SPDX-License-Identifier: MIT */
/*
 * What comes to a NIC: sources of frames, and the line that they share.
 *
 * A source says when its next frame wants the line (`next`).  The line serves them in that
 * order, one after the other at its rate, through a queue of bounded delay in front of it; what
 * does not fit there is lost before the NIC sees it.  Nothing of this is an event: whoever looks
 * at a ring brings the line up to date, and because what happens at a moment depends only on
 * what happened before it, all looks at all rings give the same frames at the same times.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "wire.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_WIRE_H
#define SIRQ_SIM_WIRE_H

#include "sim.h"

#define SIM_FRAME_MAX 1514u
#define SIM_RINGS 64u
/* Preamble, frame check sequence and the gap between two frames, bytes. */
#define SIM_LINE_OVERHEAD 24u

struct sirq_nic_ring;

struct sirq_frame {
    uint32_t len;
    uint8_t data[SIM_FRAME_MAX];
};

struct sirq_source {
    uint64_t next;   /* when its next frame wants the line; UINT64_MAX: none does */
    uint32_t id;     /* order among frames of one moment */
    uint32_t pos;    /* in the heap of its ring */
    size_t bytes;    /* of memory, itself included */
    bool control;    /* its frames are the flow's own business, not the packet path's */
    uint64_t ser_ps; /* a frame's time on the line; filled in by sirq_nic_connect() */
    struct sirq_nic_ring *ring;
    struct sirq_source *link; /* all of the NIC, newest first */
    /* The frame that wanted the line at `next` is on the ring, or lost on the way to it: set
     * `next` to that of the following one, which is not earlier.  Null: a stream. */
    void (*sent)(struct sirq_source *source, bool lost);
    /* The driver takes a frame off the ring; delivered: to a socket.  No time may pass.  Null:
     * nobody asks.  When it has taken all it will, settle, where time may pass, if the source
     * asked for that (sirq_ring_unsettled()). */
    void (*taken)(struct sirq_source *source, bool delivered);
    void (*settle)(struct sirq_source *source, struct sirq_cpu *cpu);
    struct sirq_source *unsettled_next;
    bool unsettled;
    /* Of frames that cross the machine (far.h), each with a number; null: they do not.  It has
     * left by the port `out_port` and has passed the line at `time`, which may be later than now.
     * `frame` is what the router made of it. */
    void (*out)(struct sirq_source *source, const uint8_t *frame, uint32_t number, uint64_t time);
    uint32_t number;   /* of the frame that wants the line at `next` */
    uint32_t crossing; /* its place among those of the world */
    uint64_t frames;   /* that wanted the line so far */
    uint32_t out_next; /* above the last number that came out */
    struct sirq_sim_nic *out_nic;
    uint8_t port, out_port;
    void (*fini)(struct sirq_source *source); /* may be null */
    struct sirq_frame frame;
};

/* Sources of one ring, first the one whose frame is next. */
struct sirq_source_heap {
    struct sirq_source **heap;
    uint32_t len, cap;
};

/* A line: where it stands.  Also that of frames that leave. */
struct sirq_line {
    uint64_t mbit; /* 0: takes no time */
    uint64_t queue_ns;
    uint64_t free_ns, free_ps; /* the last frame has passed; ps < 1000 */
    uint64_t dropped;
};

/* A stream: frames at a rate of its own. */
struct sirq_stream {
    struct sirq_source source;
    bool poisson;
    uint64_t rate;                       /* frames/s */
    uint32_t burst, left;                /* frames of one moment, and of those still to come */
    uint64_t interval_ns, interval_rest; /* between bursts: burst * 1e9 / rate and its remainder */
    uint64_t mean_1024;                  /* the same in 1/1024 ns */
    uint64_t rest, stop;                 /* stop: no frame from there on */
    struct sirq_rng rng;
};

/* A peer's answers: a frame each time that one was asked for. */
struct sirq_sim_flow {
    struct sirq_source source;
};

/* Past all frames up to `end`, of which there is one: how many. */
uint64_t sirq_stream_skip(struct sirq_stream *stream, uint64_t end);

struct sirq_stream *sirq_stream_new(void);
/* Rate, burst, stop and ring are filled in: begin at `start_ns`, at a phase of the seed's. */
void sirq_stream_start(struct sirq_stream *stream, uint64_t start_ns);
struct sirq_sim_flow *sirq_flow_new(void);

/* Its frame has been sent.  Here, because in a flood this is most of what there is to do. */
static inline void sirq_stream_sent(struct sirq_stream *stream)
{
    struct sirq_source *source = &stream->source;

    if (--stream->left > 0)
        return; /* at the same moment: the line sets them apart */
    stream->left = stream->burst;
    if (stream->poisson) {
        source->next += sirq_rng_exp(&stream->rng, stream->mean_1024) / 1024;
    } else {
        source->next += stream->interval_ns;
        stream->rest += stream->interval_rest;
        if (stream->rest >= stream->rate) {
            stream->rest -= stream->rate;
            source->next++;
        }
    }
    if (source->next >= stream->stop)
        source->next = UINT64_MAX;
}

/* Time of a frame of `len` bytes on the line, ps. */
uint64_t sirq_line_ser_ps(const struct sirq_line *line, uint32_t len);

/*
 * A frame wants the line at `want`, which is when its last bit would come in were the line free.
 * When has it passed?  False: there is no room to wait for that, and it is lost.
 */
static inline bool sirq_line_when(const struct sirq_line *line, uint64_t want, uint64_t ser_ps,
                                  uint64_t *time)
{
    uint64_t passed;

    *time = want;
    if (line->mbit == 0)
        return true;
    passed = line->free_ns + (line->free_ps + ser_ps) / 1000;
    if (passed <= want)
        return true;
    *time = passed;
    return passed - want <= line->queue_ns;
}

/* It passes: what comes next comes after it. */
static inline void sirq_line_pass(struct sirq_line *line, uint64_t want, uint64_t ser_ps)
{
    uint64_t ps, passed;

    if (line->mbit == 0)
        return;
    ps = line->free_ps + ser_ps;
    passed = line->free_ns + ps / 1000;
    line->free_ps = passed >= want ? ps % 1000 : 0;
    line->free_ns = passed >= want ? passed : want;
}

static inline bool sirq_source_before(const struct sirq_source *a, const struct sirq_source *b)
{
    return a->next < b->next || (a->next == b->next && a->id < b->id);
}

/* Room for one more.  0 or -ENOMEM. */
int sirq_source_heap_reserve(struct sirq_source_heap *heap);
void sirq_source_heap_push(struct sirq_source_heap *heap, struct sirq_source *source);
void sirq_source_heap_sift(struct sirq_source_heap *heap, struct sirq_source *source);

/* The source's `next` has changed. */
static inline void sirq_source_heap_fix(struct sirq_source_heap *heap, struct sirq_source *source)
{
    if (heap->len > 1)
        sirq_source_heap_sift(heap, source);
}

#endif
