/* Total order by a sequencer: a node of tutti that is not written in Python (docs/own-node.md).
 *
 * A sender ASKs; the first member gives every message the next number of all and tells everybody (ORDER); everybody
 * delivers by number, and asks AGAIN for a number that is missing. What nobody knows to be missing (an ASK, the last
 * ORDER) stays lost: run it under loss, and the judges say so. With the argument "hasty" a node delivers what it
 * hears at once, without waiting for the number, and the judges show where the order breaks.
 *     cc -O2 -o sequencer sequencer.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK = 1, ORDER, AGAIN, MOST = 65536 };
static int me, first, hasty, next = 1, last; /* next: to be delivered; last: given by the sequencer */
static struct { int origin; long long seq; char data[4096]; } held[MOST];

static void deliver(int origin, long long seq, const char *data) {
    unsigned members; /* the first eight digits of the data say for whom it is */
    if (sscanf(data, "%8x", &members) == 1 && members >> (me - 1) & 1)
        printf("note delivered about=%d seq=%lld data=%s\n", origin, seq, data[8] ? data + 8 : "-");
}

static void order(int number, int origin, long long seq, const char *data) {
    if (number < 1 || number >= MOST || held[number].origin) return;
    held[number].origin = origin, held[number].seq = seq, strcpy(held[number].data, data);
    for (; held[next].origin; next++)
        if (!hasty) deliver(held[next].origin, held[next].seq, held[next].data);
    if (number > next) printf("send %d %d 0 %d -\n", first, AGAIN, next);
}

static void tell(int number) {
    printf("send all %d %d %lld %08x%s\n", ORDER, held[number].origin, held[number].seq, number, held[number].data);
}

static void ask(int origin, long long seq, const char *data) {
    if (hasty) deliver(origin, seq, data);
    if (me == first && last + 1 < MOST) order(++last, origin, seq, data), tell(last);
}

int main(int argc, char **argv) {
    char line[8192], to[2048], data[4096], whole[4200];
    int kind, from, origin, number, n;
    unsigned members, global;
    long long now, seq, mine = (atoll(getenv("TUTTI_INCARNATION")) - 1) << 32; /* no number is used twice */
    me = atoi(getenv("TUTTI_ME")), first = atoi(getenv("TUTTI_MEMBERS")), hasty = argc > 1 && !strcmp(argv[1], "hasty");
    for (; fgets(line, sizeof line, stdin); puts("."), fflush(stdout)) {
        if (sscanf(line, "submit %lld %d %2047s %4000s", &now, &number, to, data) == 4) {
            members = 0;
            printf("note sent about=%d seq=%lld peers=%s values=%d\n", me, ++mine, to, number);
            for (char *node = strtok(to, ","); node; node = strtok(NULL, ",")) members |= 1u << (atoi(node) - 1);
            sprintf(whole, "%08x%s", members, *data == '-' ? "" : data);
            printf("send all %d %d %lld %s\n", ASK, me, mine, whole);
            ask(me, mine, whole);
        } else if (sscanf(line, "received %lld %d %d %d %lld %4000s", &now, &from, &kind, &origin, &seq, data) == 6) {
            if (from == me) continue; /* the single channel brings back what we sent */
            if (kind == ASK) ask(origin, seq, data);
            else if (kind == ORDER && sscanf(data, "%8x%n", &global, &n) == 1) order((int)global, origin, seq, data + n);
            else if (kind == AGAIN && me == first && seq > 0 && seq <= last) tell((int)seq);
        }
    }
}
