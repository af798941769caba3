/*
 * TLS and SCRAM-SHA-512 for the load generators, by OpenSSL.
 *
 * The certificate of the broker is checked against its authority, as clients do. What a password comes to for a salt
 * is worked out once for a process: who logs in again and again would else measure himself.
 */
#define _GNU_SOURCE
#include "secured.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { HASH = 64, SALT_MOST = 256, FRAME_MOST = 4096, READ_AHEAD = 1 << 18, HANDSHAKE = 17, AUTHENTICATE = 36 };

static void fail(const char *what) {
    fprintf(stderr, "secured: %s\n", what);
    exit(1);
}

static void fail_tls(const char *what) {
    fprintf(stderr, "secured: %s: %s\n", what, ERR_reason_error_string(ERR_peek_last_error()));
    exit(1);
}

/* --- TLS ---------------------------------------------------------------------------------------------------------- */

void door_init(Door *door, char *trusted, char *login) {
    memset(door, 0, sizeof *door);
    if (login) {
        char *colon = strchr(login, ':');
        if (!colon) fail("a login is name:password");
        *colon = 0;
        door->user = login;
        door->password = colon + 1;
    }
    if (!trusted) return;
    door->trusted = trusted;
    door->context = SSL_CTX_new(TLS_client_method());
    if (!door->context || !SSL_CTX_load_verify_locations(door->context, trusted, NULL)) fail_tls(trusted);
    SSL_CTX_set_verify(door->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(door->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(door->context, 1);
    SSL_CTX_set_default_read_buffer_len(door->context, READ_AHEAD);
}

SSL *door_open(const Door *door, int fd) {
    if (!door->context) return NULL;
    SSL *tls = SSL_new(door->context);
    if (!tls || !SSL_set_fd(tls, fd) || !SSL_set1_host(tls, "localhost")) fail_tls("TLS");
    ERR_clear_error();
    if (SSL_connect(tls) != 1) fail_tls("the handshake failed");
    return tls;
}

static ssize_t outcome(SSL *tls, int done, const char *what) {
    if (done > 0) return done;
    switch (SSL_get_error(tls, done)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
        case SSL_ERROR_ZERO_RETURN: return 0;
        case SSL_ERROR_SYSCALL: return -1;
        default: fail_tls(what); return -1;
    }
}

ssize_t door_send(SSL *tls, int fd, const void *data, size_t size) {
    if (!tls) return send(fd, data, size, MSG_NOSIGNAL);
    ERR_clear_error();
    return outcome(tls, SSL_write(tls, data, (int)size), "sending");
}

ssize_t door_receive(SSL *tls, int fd, void *into, size_t size) {
    if (!tls) return recv(fd, into, size, 0);
    ERR_clear_error();
    return outcome(tls, SSL_read(tls, into, (int)size), "receiving");
}

void door_send_all(SSL *tls, int fd, const void *data, size_t size) {
    while (size) {
        ssize_t put = door_send(tls, fd, data, size);
        if (put <= 0) fail("the broker does not take what it is sent");
        data = (const uint8_t *)data + put;
        size -= (size_t)put;
    }
}

void door_receive_all(SSL *tls, int fd, void *into, size_t size) {
    while (size) {
        ssize_t got = door_receive(tls, fd, into, size);
        if (got <= 0) fail("the broker does not answer a login");
        into = (uint8_t *)into + got;
        size -= (size_t)got;
    }
}

/* --- SCRAM -------------------------------------------------------------------------------------------------------- */

static void put16(uint8_t *to, int value) {
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static void put32(uint8_t *to, uint32_t value) {
    value = htonl(value);
    memcpy(to, &value, sizeof value);
}

/* A request of version 1 by the client `bench`; the length of the answer, whose bytes are in `into`. */
static size_t ask(SSL *tls, int fd, int api, const void *body, size_t size, uint8_t *into) {
    uint8_t frame[FRAME_MOST] = {0};
    if (size > sizeof frame - 32) fail("a token is too long");
    put32(frame, (uint32_t)(15 + size));
    put16(frame + 4, api);
    put16(frame + 6, 1);
    put16(frame + 12, 5);
    memcpy(frame + 14, "bench", 5);
    memcpy(frame + 19, body, size);
    door_send_all(tls, fd, frame, 19 + size);
    uint32_t length;
    door_receive_all(tls, fd, &length, sizeof length);
    length = ntohl(length);
    if (length < 6 || length > FRAME_MOST) fail("an answer to a login is too long");
    door_receive_all(tls, fd, into, length);
    if (into[4] || into[5]) fail("the login was refused");
    return length;
}

/* One token there and one back, which ends with a zero. */
static char *exchange(SSL *tls, int fd, const char *token, uint8_t *into) {
    uint8_t body[FRAME_MOST];
    size_t size = strlen(token);
    if (size > sizeof body - 64) fail("a token is too long");
    put32(body, (uint32_t)size);
    memcpy(body + 4, token, size);
    size_t length = ask(tls, fd, AUTHENTICATE, body, 4 + size, into);
    uint32_t given;
    size_t at = 8;                                   /* behind the correlation id, the error and the message's length */
    if (length >= at && into[6] != 0xff) at += (size_t)into[6] << 8 | into[7];
    if (length < at + 4) fail("an answer to a login is not one");
    memcpy(&given, into + at, sizeof given);
    given = ntohl(given);
    if (given > length - at - 4) fail("an answer to a login is not whole");
    into[at + 4 + given] = 0;
    return (char *)into + at + 4;
}

static void hmac(const uint8_t *key, const void *data, size_t size, uint8_t *into) {
    unsigned length;
    if (!HMAC(EVP_sha512(), key, HASH, data, size, into, &length)) fail_tls("HMAC");
}

/* The keys of a password for one salt, remembered: brokers keep a salt for as long as the password. */
static void keys_of(const char *password, const char *salt, int iterations, uint8_t *client, uint8_t *stored) {
    static char known_salt[SALT_MOST];
    static uint8_t known_client[HASH], known_stored[HASH];
    if (strlen(salt) >= SALT_MOST) fail("a salt is too long");
    if (strcmp(salt, known_salt)) {
        uint8_t raw[SALT_MOST], salted[HASH];
        int size = EVP_DecodeBlock(raw, (const uint8_t *)salt, (int)strlen(salt));
        for (const char *end = salt + strlen(salt); size > 0 && *--end == '=';) size--;
        if (!PKCS5_PBKDF2_HMAC(password, -1, raw, size, iterations, EVP_sha512(), HASH, salted)) fail_tls("PBKDF2");
        hmac(salted, "Client Key", 10, known_client);
        if (!EVP_Digest(known_client, HASH, known_stored, NULL, EVP_sha512(), NULL)) fail_tls("SHA-512");
        strcpy(known_salt, salt);
    }
    memcpy(client, known_client, HASH);
    memcpy(stored, known_stored, HASH);
}

void door_log_in(const Door *door, SSL *tls, int fd) {
    if (!door->user) return;
    static const char mechanism[] = "\0\rSCRAM-SHA-512";
    uint8_t answer[FRAME_MOST + 1], noise[18], client[HASH], stored[HASH], signature[HASH], proof[HASH];
    char nonce[32], bare[512], first[516], message[2048], last[2048];
    ask(tls, fd, HANDSHAKE, mechanism, sizeof mechanism - 1, answer);

    RAND_bytes(noise, sizeof noise);
    EVP_EncodeBlock((uint8_t *)nonce, noise, sizeof noise);
    snprintf(bare, sizeof bare, "n=%s,r=%s", door->user, nonce);
    snprintf(first, sizeof first, "n,,%s", bare);
    char *challenge = exchange(tls, fd, first, answer);
    char whole[512], joined[256], salt[SALT_MOST];
    int iterations;
    snprintf(whole, sizeof whole, "%s", challenge);
    if (sscanf(challenge, "r=%255[^,],s=%255[^,],i=%d", joined, salt, &iterations) != 3) fail("not a challenge");

    keys_of(door->password, salt, iterations, client, stored);
    snprintf(message, sizeof message, "%s,%s,c=biws,r=%s", bare, whole, joined);
    hmac(stored, message, strlen(message), signature);
    for (int i = 0; i < HASH; i++) proof[i] = client[i] ^ signature[i];
    int size = snprintf(last, sizeof last, "c=biws,r=%s,p=", joined);
    EVP_EncodeBlock((uint8_t *)last + size, proof, HASH);
    if (exchange(tls, fd, last, answer)[0] != 'v') fail("the broker did not say that it knows the password");
}
