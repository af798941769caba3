/*
 * New connections, one after the other in each of several processes: connect, shake hands, ask for ApiVersions as every
 * client does, log in, hang up.
 *
 *     logins HOST PORT WARMUP_SECONDS SECONDS PROCESSES [tls=AUTHORITY.PEM] [login=NAME:PASSWORD]
 *
 * Prints one JSON object on standard output.
 */
#define _GNU_SOURCE
#include "secured.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, PATIENCE_SECONDS = 10, ANSWER_MOST = 1 << 16 };

typedef struct {
    uint32_t count;
    float taken[MOST];   /* microseconds */
} Times;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + t.tv_nsec / 1e9;
}

static void connect_once(const struct sockaddr_in *address, const Door *door) {
    static const uint8_t question[] = {0, 0, 0, 15, 0, 18, 0, 0, 0, 0, 0, 0, 0, 5, 'b', 'e', 'n', 'c', 'h'};
    static uint8_t answer[ANSWER_MOST];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    if (fd < 0) fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address)) fail("connect");
    SSL *tls = door_open(door, fd);
    uint32_t length;
    door_send_all(tls, fd, question, sizeof question);
    door_receive_all(tls, fd, &length, sizeof length);
    length = ntohl(length);
    if (length > sizeof answer) fail("the answer to ApiVersions is too long");
    door_receive_all(tls, fd, answer, length);
    door_log_in(door, tls, fd);
    if (tls) {
        SSL_shutdown(tls);
        SSL_free(tls);
    }
    close(fd);
}

static int ascending(const void *one, const void *other) {
    float a = *(const float *)one, b = *(const float *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: logins HOST PORT WARMUP_SECONDS SECONDS PROCESSES [tls=FILE] [login=NAME:PASSWORD]\n");
        return 1;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &address.sin_addr);
    char *trusted = NULL, *login = NULL;
    for (int i = 6; i < argc; i++) {
        if (!strncmp(argv[i], "tls=", 4)) trusted = argv[i] + 4;
        else if (!strncmp(argv[i], "login=", 6)) login = argv[i] + 6;
    }
    Door door;
    door_init(&door, trusted, login);
    int processes = atoi(argv[5]);
    double begin = now() + atof(argv[3]), end = begin + atof(argv[4]);
    size_t room = sizeof(Times) * (size_t)processes;
    Times *times = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (times == MAP_FAILED) fail("memory");
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child) continue;
        for (double before; (before = now()) < end;) {
            connect_once(&address, &door);
            double after = now();
            if (after >= begin && after <= end && times[i].count < MOST)
                times[i].taken[times[i].count++] = (float)((after - before) * 1e6);
        }
        _exit(0);
    }
    int failed = 0;
    for (int status; wait(&status) > 0;) failed |= status;
    if (failed) return 1;
    uint32_t count = 0;
    for (int i = 0; i < processes; i++) count += times[i].count;
    if (!count) return 1;
    float *all = malloc(sizeof *all * count);
    if (!all) fail("memory");
    for (int i = 0, at = 0; i < processes; at += (int)times[i++].count)
        memcpy(all + at, times[i].taken, sizeof *all * times[i].count);
    qsort(all, count, sizeof *all, ascending);
    printf("{\"connections\": %u, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", count,
           count / atof(argv[4]), all[count / 2], all[(size_t)(count * 0.99)]);
    return 0;
}
