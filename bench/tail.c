/*
 * End-to-end latency: how long after a producer sent a record does a consumer that waits for it hold it in its hands?
 *
 * Two connections. On one a fetch waits at the end of the log; on the other a record is sent. The time counts from the
 * first byte of the produce request to the last byte of the fetch response. One record at a time, a pause in between,
 * so that the fetch is parked at the broker when the record comes, as that of a consumer that has caught up is.
 *
 *     tail HOST PORT PRODUCE_FRAME FETCH_FRAME OFFSET_AT FIRST_OFFSET EMPTY WARMUP COUNT PAUSE_US
 *
 *     OFFSET_AT    where the fetch offset stands in the fetch request
 *     EMPTY        a fetch response of at most this many bytes brought nothing: it is asked again
 *
 * Prints the latencies in microseconds as a JSON array, in the order they were measured.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, MAX_RESPONSE = 1 << 20 };

typedef struct {
    uint8_t *data;
    size_t length;
} Frame;

static uint8_t response[MAX_RESPONSE];

static void fail(const char *what) {
    fprintf(stderr, "tail: %s\n", what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static Frame read_frame(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    Frame frame = {.length = (size_t)ftell(file)};
    rewind(file);
    frame.data = malloc(frame.length);
    if (!frame.data || fread(frame.data, 1, frame.length, file) != frame.length) fail(path);
    fclose(file);
    return frame;
}

static int connect_to(const struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address)) fail("cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void send_frame(int fd, const Frame *frame) {
    if (send(fd, frame->data, frame->length, MSG_NOSIGNAL) != (ssize_t)frame->length) fail("send");
}

static size_t receive_response(int fd) {
    uint32_t wire;
    if (recv(fd, &wire, sizeof wire, MSG_WAITALL) != sizeof wire) fail("no answer");
    size_t length = ntohl(wire);
    if (length > sizeof response || recv(fd, response, length, MSG_WAITALL) != (ssize_t)length) fail("an answer is not whole");
    return sizeof wire + length;
}

static void ask_at(int fd, Frame *fetch, size_t offset_at, int64_t offset) {
    uint64_t wire = __builtin_bswap64((uint64_t)offset);
    memcpy(fetch->data + offset_at, &wire, sizeof wire);
    send_frame(fd, fetch);
}

int main(int argc, char **argv) {
    if (argc != 11) fail("usage: tail HOST PORT PRODUCE FETCH OFFSET_AT FIRST_OFFSET EMPTY WARMUP COUNT PAUSE_US");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) fail("HOST is an IPv4 address");
    Frame produce = read_frame(argv[3]), fetch = read_frame(argv[4]);
    size_t offset_at = (size_t)atol(argv[5]), empty = (size_t)atol(argv[7]);
    int64_t offset = atoll(argv[6]);
    int warmup = atoi(argv[8]), count = atoi(argv[9]), pause = atoi(argv[10]);
    int producer = connect_to(&address), consumer = connect_to(&address);
    printf("[");
    for (int number = 0; number < warmup + count; number++, offset++) {
        ask_at(consumer, &fetch, offset_at, offset);
        usleep((useconds_t)pause);
        int64_t sent = now_ns(), seen = 0;
        int acknowledged = 0;
        send_frame(producer, &produce);
        while (!seen || !acknowledged) {
            struct pollfd ready[] = {{.fd = producer, .events = POLLIN}, {.fd = consumer, .events = POLLIN}};
            if (poll(ready, 2, PATIENCE_MS) <= 0) fail("nothing came for 10 s");
            if (ready[1].revents && !seen) {
                if (receive_response(consumer) > empty) seen = now_ns();
                else ask_at(consumer, &fetch, offset_at, offset);   /* it had waited long enough */
            }
            if (ready[0].revents && !acknowledged) {
                receive_response(producer);
                acknowledged = 1;
            }
        }
        if (number >= warmup) printf("%s%.1f", number > warmup ? ", " : "", (seen - sent) / 1000.0);
    }
    printf("]\n");
    return 0;
}
