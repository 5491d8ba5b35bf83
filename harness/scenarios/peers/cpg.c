/* An adapter for Corosync: a message that is submitted becomes a multicast of the closed process group "tutti", whose
   deliveries and views become NOTEs. cc -O2 -o cpg cpg.c -lcpg */
#include <corosync/cpg.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA_MAX 1500
#define WAITING_MAX 4096

struct message {
    uint32_t origin;
    uint64_t seq;
    unsigned char data[DATA_MAX];
} __attribute__((packed));

static struct {
    unsigned long number;
    char to[256];
    size_t size;
    unsigned char data[DATA_MAX];
} waiting[WAITING_MAX]; /* what Corosync has not taken yet */

static size_t first, last;
static uint32_t me;
static uint64_t seq;
static uint64_t ring;
static char members[12 * CPG_MEMBERS_MAX];

static void delivered(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *bytes,
                      size_t size) {
    const struct message *message = bytes;
    size_t length = size - (sizeof *message - DATA_MAX);
    printf("note delivered about=%" PRIu32 " seq=%" PRIu64 " data=%s", message->origin, message->seq, length ? "" : "-");
    for (size_t i = 0; i < length; i++)
        printf("%02x", message->data[i]);
    printf("\n");
}

/* A view is the group's members on a ring of Totem, whose number is the same at all of them and grows. */
static void view(void) {
    printf("note view seq=%" PRIu64 " peers=%s\n", ring, members);
}

static void changed(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *list, size_t count,
                    const struct cpg_address *left, size_t left_count, const struct cpg_address *joined,
                    size_t joined_count) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += sprintf(members + used, "%s%" PRIu32, i ? "," : "", list[i].nodeid);
    unsigned reason = joined_count ? joined[0].reason : left_count ? left[0].reason : CPG_REASON_UNDEFINED;
    if (ring && (reason == CPG_REASON_JOIN || reason == CPG_REASON_LEAVE))
        view(); /* otherwise nodes came or went: the new ring follows */
}

static void turned(cpg_handle_t handle, struct cpg_ring_id id, uint32_t count, const uint32_t *nodes) {
    ring = id.seq;
    if (members[0])
        view();
}

static void fail(const char *what, int error) {
    fprintf(stderr, "%s: error %d of Corosync\n", what, error);
    exit(1);
}

static void submit(char *line) {
    char data[2 * DATA_MAX + 2];
    if (last == first + WAITING_MAX)
        fail("too many messages wait", 0);
    size_t slot = last % WAITING_MAX;
    if (sscanf(line, "submit %lu %255s %3001s", &waiting[slot].number, waiting[slot].to, data) != 3)
        fail(line, 0);
    waiting[slot].size = data[0] == '-' ? 0 : strlen(data) / 2;
    for (size_t i = 0; i < waiting[slot].size; i++)
        sscanf(data + 2 * i, "%2hhx", &waiting[slot].data[i]);
    last++;
}

/* Hand over what waits; 0 if Corosync wants it later. */
static int send_waiting(cpg_handle_t handle) {
    while (first < last) {
        size_t slot = first % WAITING_MAX;
        struct message message = {me, seq + 1};
        memcpy(message.data, waiting[slot].data, waiting[slot].size);
        struct iovec bytes = {&message, sizeof message - DATA_MAX + waiting[slot].size};
        int error = cpg_mcast_joined(handle, CPG_TYPE_AGREED, &bytes, 1);
        if (error == CS_ERR_TRY_AGAIN)
            return 0;
        if (error != CS_OK)
            fail("cpg_mcast_joined", error);
        printf("note sent about=%" PRIu32 " seq=%" PRIu64 " peers=%s values=%lu\n", me, ++seq, waiting[slot].to,
               waiting[slot].number);
        first++;
    }
    return 1;
}

int main(void) {
    static char input[1 << 20];
    size_t have = 0;
    struct cpg_name group = {5, "tutti"};
    cpg_model_v1_data_t callbacks = {CPG_MODEL_V1, delivered, changed, turned, CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF};
    cpg_model_data_t *model = (cpg_model_data_t *)&callbacks;
    cpg_handle_t handle;
    int descriptor, error;

    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    me = atoi(getenv("TUTTI_ME"));
    seq = (strtoull(getenv("TUTTI_INCARNATION"), NULL, 10) - 1) << 32; /* numbers are used once, also over restarts */
    while ((error = cpg_model_initialize(&handle, CPG_MODEL_V1, model, NULL)) == CS_ERR_TRY_AGAIN || error == CS_ERR_LIBRARY)
        usleep(20000);
    if (error != CS_OK)
        fail("cpg_model_initialize", error);
    while ((error = cpg_join(handle, &group)) == CS_ERR_TRY_AGAIN)
        usleep(20000);
    if (error != CS_OK)
        fail("cpg_join", error);
    cpg_fd_get(handle, &descriptor);
    printf("ready\n");
    for (;;) {
        int all = send_waiting(handle);
        struct pollfd wanted[2] = {{descriptor, POLLIN}, {0, POLLIN}};
        if (poll(wanted, 2, all ? -1 : 1) < 0 && errno != EINTR)
            fail("poll", errno);
        if (wanted[0].revents && (error = cpg_dispatch(handle, CS_DISPATCH_ALL)) != CS_OK)
            fail("cpg_dispatch", error);
        if (wanted[1].revents) {
            ssize_t size = read(0, input + have, sizeof input - have - 1);
            if (size <= 0)
                return 0;
            have += size;
            input[have] = 0;
            char *line = input, *end;
            for (; (end = strchr(line, '\n')); line = end + 1) {
                *end = 0;
                submit(line);
            }
            have -= line - input;
            memmove(input, line, have);
        }
    }
}
