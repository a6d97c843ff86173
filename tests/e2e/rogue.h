/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two sides of the rogue peer share; see rogue.c. */
#ifndef TESTS_ROGUE_H
#define TESTS_ROGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

#include "conf.h"
#include "handshake.h"

#define MAX_PRIVATE 56		  /* in a request, as the CM lets through */
#define TEST_TOKEN  "open sesame" /* of targets that rogue clients know */
#define NR(array)   (sizeof(array) / sizeof((array)[0]))

/* Private data as it is sent. */
struct message {
	uint8_t wire[WELCOME_BYTES]; /* the longest of them */
	uint8_t bytes;
};

/*
 * A field of a message overwritten, big-endian, or the message cut. For the
 * offsets see handshake.c.
 */
struct spoil {
	const char *name;
	uint8_t at;
	uint8_t width;
	uint8_t bytes; /* of the message */
	uint64_t value;
};

void spoil_message(const struct spoil *spoil, struct message *message);

/* Ends the program, with errno's text. */
void die(const char *what) __attribute__((__noreturn__));
int64_t now_ms(void);
struct rdma_event_channel *open_channel(void);
void make_qp(struct rdma_cm_id *id);

/*
 * A number for a QP that is not there. Another one each time: a CM takes a
 * second connection from the same QP for the return of a lost one.
 */
uint32_t some_qp_num(void);

/* 0 when the target has answered as it should. */
int rogue_client(const char *addr, const char *port, const char *name);
/* Returns only on a failure. */
int rogue_target(uint16_t port);
/*
 * The name of case i, NULL after the last; of clients only those that any
 * target bears.
 */
const char *rogue_client_name(size_t i);
const char *rogue_target_name(size_t i);

#endif /* TESTS_ROGUE_H */
