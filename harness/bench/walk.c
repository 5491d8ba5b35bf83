/* The practical limit of reading a capture: walk the records, take the link layer, IPv6 and UDP off, count per type.
 * Nothing is decoded, no check is verified, nothing is kept. For harness/bench/decode.py.
 *
 * usage: walk CAPTURE   (little-endian pcap of Linux cooked frames)
 * prints: frames, PDUs, different types, CPU nanoseconds
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_HEADER = 24, RECORD_HEADER = 16, COOKED = 20, IPV6 = 40, UDP = 8, PDU_HEADER = 12 };

static uint32_t big16(const uint8_t *at) { return (uint32_t)at[0] << 8 | at[1]; }

int main(int count, char **arguments) {
    static uint64_t frames_of[65536], bytes_of[65536];
    struct timespec begin, end;
    struct stat about;
    if (count != 2) return 64;
    int file = open(arguments[1], O_RDONLY);
    if (file < 0 || fstat(file, &about) < 0) return 66;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    const uint8_t *data = mmap(0, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return 71;
    madvise((void *)data, about.st_size, MADV_SEQUENTIAL);
    uint64_t frames = 0, pdus = 0, kinds = 0;
    const uint8_t *place = data + FILE_HEADER, *last = data + about.st_size;
    while (place + RECORD_HEADER <= last) {
        uint32_t captured;
        memcpy(&captured, place + 8, 4);
        const uint8_t *frame = place + RECORD_HEADER, *next = frame + captured;
        if (next > last) break;
        place = next;
        frames++;
        if (captured < COOKED + PDU_HEADER) continue;
        uint32_t kind = big16(frame);
        const uint8_t *pdu = frame + COOKED;
        if (kind == 0x86dd) {
            if (captured < COOKED + IPV6 + UDP + PDU_HEADER) continue;
            if (pdu[6] != 17 || big16(pdu + IPV6 + 2) != 0x88b5) continue;
            pdu += IPV6 + UDP;
        } else if (kind != 0x88b5) {
            continue;
        }
        if (big16(pdu) != 0x7475) continue;
        uint32_t type = big16(pdu + 2);
        kinds += frames_of[type] == 0;
        frames_of[type]++;
        bytes_of[type] += captured;
        pdus++;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    long long spent = (end.tv_sec - begin.tv_sec) * 1000000000LL + (end.tv_nsec - begin.tv_nsec);
    printf("%llu %llu %llu %lld\n", (unsigned long long)frames, (unsigned long long)pdus, (unsigned long long)kinds, spent);
    return 0;
}
