/* SPDX-License-Identifier: MIT */
/* See wire.h. */
#define SIRQ_SIM_PRIVATE
#include "wire.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- the line ------------------------------------------------------------------------- */

uint64_t sirq_line_ser_ps(const struct sirq_line *line, uint32_t len)
{
    return line->mbit != 0 ? (uint64_t)(len + SIM_LINE_OVERHEAD) * 8 * 1000000 / line->mbit : 0;
}

/* ---- which one is next ---------------------------------------------------------------- */

int sirq_source_heap_reserve(struct sirq_source_heap *heap)
{
    uint32_t cap = heap->cap != 0 ? heap->cap * 2 : 4;
    struct sirq_source **bigger;

    if (heap->len < heap->cap)
        return 0;
    bigger = realloc(heap->heap, cap * sizeof(*bigger));
    if (bigger == NULL)
        return -ENOMEM;
    heap->heap = bigger;
    heap->cap = cap;
    return 0;
}

static void put(struct sirq_source_heap *heap, uint32_t pos, struct sirq_source *source)
{
    heap->heap[pos] = source;
    source->pos = pos;
}

static void sift_up(struct sirq_source_heap *heap, struct sirq_source *source)
{
    uint32_t pos = source->pos;

    while (pos > 0 && sirq_source_before(source, heap->heap[(pos - 1) / 2])) {
        put(heap, pos, heap->heap[(pos - 1) / 2]);
        pos = (pos - 1) / 2;
    }
    put(heap, pos, source);
}

static void sift_down(struct sirq_source_heap *heap, struct sirq_source *source)
{
    uint32_t pos = source->pos, child;

    while ((child = 2 * pos + 1) < heap->len) {
        if (child + 1 < heap->len && sirq_source_before(heap->heap[child + 1], heap->heap[child]))
            child++;
        if (!sirq_source_before(heap->heap[child], source))
            break;
        put(heap, pos, heap->heap[child]);
        pos = child;
    }
    put(heap, pos, source);
}

void sirq_source_heap_push(struct sirq_source_heap *heap, struct sirq_source *source)
{
    assert(heap->len < heap->cap);
    source->pos = heap->len++;
    sift_up(heap, source);
}

void sirq_source_heap_sift(struct sirq_source_heap *heap, struct sirq_source *source)
{
    sift_up(heap, source);
    sift_down(heap, source);
}

/* ---- streams and answers -------------------------------------------------------------- */

uint64_t sirq_stream_skip(struct sirq_stream *stream, uint64_t end)
{
    struct sirq_rng rng = stream->rng; /* in registers, which stores cannot be meant for */
    uint64_t next = stream->source.next, n = 0;

    for (; stream->poisson && stream->burst == 1 && next <= end; n++) {
        next += sirq_rng_exp(&rng, stream->mean_1024) / 1024;
        if (next >= stream->stop)
            next = UINT64_MAX;
    }
    stream->source.next = next;
    stream->rng = rng;
    for (; stream->source.next <= end; n++)
        sirq_stream_sent(stream);
    return n;
}

struct sirq_stream *sirq_stream_new(void)
{
    struct sirq_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return NULL;
    stream->source.next = UINT64_MAX;
    stream->source.bytes = sizeof(*stream);
    return stream;
}

/* The phase is the seed's: sources of one rate do not march in step. */
void sirq_stream_start(struct sirq_stream *stream, uint64_t start_ns)
{
    struct sirq_source *source = &stream->source;

    stream->left = stream->burst;
    stream->interval_ns = stream->burst * NS_PER_S / stream->rate;
    stream->interval_rest = stream->burst * NS_PER_S % stream->rate;
    stream->mean_1024 = stream->burst * NS_PER_S * 1024 / stream->rate;
    source->next = start_ns + sirq_rng_below(&stream->rng, stream->interval_ns + 1);
    if (source->next >= stream->stop)
        source->next = UINT64_MAX;
}

static void flow_sent(struct sirq_source *source, bool lost)
{
    (void)lost;
    source->next = UINT64_MAX;
}

struct sirq_sim_flow *sirq_flow_new(void)
{
    struct sirq_sim_flow *flow = calloc(1, sizeof(*flow));

    if (flow == NULL)
        return NULL;
    flow->source.next = UINT64_MAX;
    flow->source.bytes = sizeof(*flow);
    flow->source.sent = flow_sent;
    return flow;
}
