// SPDX-License-Identifier: GPL-2.0-only
/*
 * fio's options, the engine's own and the core's, turned into engine_conf.
 *
 * All of the engine's options are strings to fio: its parser of numbers takes
 * "50abc" for 50, "-5" for the default and 4294967297 for 1, and says nothing.
 * They are checked here, where the job is known too.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "options.h"
#include "token.h"

/* The words of options that take one. */
/* clang-format off */
#define V(word, value, text) { .ival = word, .oval = value, .help = text }
#define ROLE_VALUES \
	V("initiator", ROLE_INITIATOR, "issues the I/O"), \
	V("target", ROLE_TARGET, "lends its memory, issues nothing")
#define TRANSPORT_VALUES \
	V("rdma", TRANSPORT_RDMA, "an RDMA device, the connection manager"), \
	V("memory", TRANSPORT_MEMORY, "a device in this job's memory")
#define STRIPE_VALUES \
	V("batch", WRB_STRIPE_BATCH, "all of a submit to one QP, in turn"), \
	V("round_robin", WRB_STRIPE_ROUND_ROBIN, "each WR to the next QP"), \
	V("least_loaded", WRB_STRIPE_LEAST_LOADED, "to the emptiest QP"), \
	V("offset", WRB_STRIPE_OFFSET, "an offset always to the same QP")
#define POLL_VALUES \
	V("busy", POLL_BUSY, "spin on the completion queue"), \
	V("event", POLL_EVENT, "sleep until the completion queue holds some"), \
	V("adaptive", POLL_ADAPTIVE, "spin for poll_spin_us, then sleep")
#define VERB_VALUES \
	V("any", VERB_ANY, "as rw= says"), \
	V("write", VERB_WRITE, "rw= must write, and not read"), \
	V("read", VERB_READ, "rw= must read, and not write"), \
	V("send", VERB_SEND, "refused: there is no two-sided work"), \
	V("recv", VERB_RECV, "refused: there is no two-sided work")
#define ACCESS_VALUES \
	V("rw", ACCESS_RW, "read and write"), \
	V("ro", ACCESS_READ, "only read"), \
	V("wo", ACCESS_WRITE, "only write")
/* clang-format on */

/* What fio fills in. Its first field is fio's own, by fio's convention. */
struct option_texts {
	void *fio;
#define WORD(name, field, values, dflt, text, users_)		   char *name;
#define NUMBER(name, field, least, most, dflt, unit, text, users_) char *name;
#define TIME(name, field, least, most, dflt, text, users_)	   char *name;
#define TEXT(name, dflt, text, users_)				   char *name;
#include "options.def"
	/* No options: see options_file_bytes(), options_note_setup(). */
	uint64_t file_bytes;
	pid_t setup_pid;
};
const int engine_option_bytes = sizeof(struct option_texts);

/*
 * fio matches a string with values by their beginnings, and cuts it at a
 * colon, unless it has a callback. This one leaves the string as it is.
 */
static int take_as_is(void *texts, const char *value)
{
	(void)texts;
	(void)value;
	return 0;
}

#define ROW(name_, dflt, text)                                          \
	.name = #name_, .lname = #name_, .type = FIO_OPT_STR_STORE,     \
	.off1 = offsetof(struct option_texts, name_), .cb = take_as_is, \
	.def = dflt, .help = text, .category = FIO_OPT_C_ENGINE,        \
	.group = FIO_OPT_G_INVALID

/* Not const because fio keeps notes of its own in it. */
struct fio_option engine_options[] = {
#define WORD(name, field, values, dflt, text, users_) \
	{ ROW(name, dflt, text " (default: " dflt ")"), .posval = { values } },
#define NUMBER(name, field, least, most, dflt, unit, text, users_)       \
	{ ROW(name, dflt,                                                \
	      text " (" unit ", " #least " to " #most ", default: " dflt \
		   ")") },
#define TIME(name, field, least, most, dflt, text, users_)           \
	{ ROW(name, dflt,                                            \
	      text " (milliseconds, or with suffix ms or s; " #least \
		   " to " #most ", default: " dflt ")") },
#define TEXT(name, dflt, text, users_) { ROW(name, dflt, text) },
#include "options.def"
	{ .name = NULL },
};

/* The jobs in which an option has an effect; a job is one or two of these. */
enum {
	FOR_INITIATOR = 1 << 0,
	FOR_TARGET = 1 << 1,
	FOR_MEMORY = 1 << 2, /* an initiator with transport=memory */
	FOR_BOTH = FOR_INITIATOR | FOR_TARGET,
	FOR_REGION = FOR_TARGET | FOR_MEMORY,
};

enum rule_kind { RULE_WORD, RULE_NUMBER, RULE_TIME, RULE_TEXT };

/* How the option at the same index of engine_options is read. */
struct rule {
	enum rule_kind kind;
	size_t field; /* in engine_conf */
	size_t field_bytes;
	uint64_t least;
	uint64_t most;
	unsigned int users;
};

#define FIELD_OF(field_)                               \
	.field = offsetof(struct engine_conf, field_), \
	.field_bytes = sizeof(((struct engine_conf *)0)->field_)

static const struct rule rules[] = {
#define WORD(name, field, values, dflt, text, users_) \
	{ .kind = RULE_WORD, .users = users_, FIELD_OF(field) },
#define NUMBER(name, field, least_, most_, dflt, unit, text, users_) \
	{ .kind = RULE_NUMBER,                                       \
	  .users = users_,                                           \
	  FIELD_OF(field),                                           \
	  .least = least_,                                           \
	  .most = most_ },
#define TIME(name, field, least_, most_, dflt, text, users_) \
	{ .kind = RULE_TIME,                                 \
	  .users = users_,                                   \
	  FIELD_OF(field),                                   \
	  .least = least_,                                   \
	  .most = most_ },
#define TEXT(name, dflt, text, users_) { .kind = RULE_TEXT, .users = users_ },
#include "options.def"
};

/* Field widths differ; a value was checked to fit. */
static void store(struct engine_conf *conf, const struct rule *rule,
		  uint64_t value)
{
	void *field = (char *)conf + rule->field;

	switch (rule->field_bytes) {
	case 1:
		*(uint8_t *)field = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)field = (uint16_t)value;
		break;
	default:
		*(uint32_t *)field = (uint32_t)value;
	}
}

static uint64_t suffix_factor(enum rule_kind kind, const char *suffix)
{
	if (!*suffix)
		return 1;
	if (kind == RULE_TIME) {
		if (!strcmp(suffix, "ms"))
			return 1;
		return strcmp(suffix, "s") ? 0 : 1000;
	}
	if (suffix[1])
		return 0;
	switch (*suffix) {
	case 'k':
	case 'K':
		return 1ull << 10;
	case 'm':
	case 'M':
		return 1ull << 20;
	case 'g':
	case 'G':
		return 1ull << 30;
	}
	return 0;
}

/* Digits and at most one suffix, nothing else; false if it is not that. */
static bool parse_number(const char *text, enum rule_kind kind, uint64_t *value)
{
	unsigned long long digits;
	uint64_t factor;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	digits = strtoull(text, &end, 10);
	factor = suffix_factor(kind, end);
	if (errno || !factor)
		return false;
	return !__builtin_mul_overflow(digits, factor, value);
}

static void refuse_number(const struct rule *rule, const char *name,
			  const char *text, const struct engine_env *env)
{
	const char *form = "";

	if (rule->kind == RULE_TIME)
		form = ", milliseconds or with suffix ms or s";
	else if (rule->most >= 1024)
		form = ", with suffix k, m or g if you like";
	env->error(env->arg,
		   "%s=%s is refused: give a whole number from %llu to %llu%s",
		   name, text, (unsigned long long)rule->least,
		   (unsigned long long)rule->most, form);
}

static int read_number(const struct rule *rule, const char *name,
		       const char *text, const struct engine_env *env,
		       struct engine_conf *conf)
{
	uint64_t value;

	if (!parse_number(text, rule->kind, &value) || value < rule->least ||
	    value > rule->most) {
		refuse_number(rule, name, text, env);
		return EINVAL;
	}
	store(conf, rule, value);
	return 0;
}

static int read_word(const struct rule *rule, const struct fio_option *option,
		     const char *text, const struct engine_env *env,
		     struct engine_conf *conf)
{
	const struct value_pair *word;
	char words[128] = "";

	for (word = option->posval; word->ival; word++) {
		if (!strcmp(word->ival, text)) {
			store(conf, rule, word->oval);
			return 0;
		}
		if (word != option->posval)
			strncat(words, word[1].ival ? ", " : " or ",
				sizeof(words) - strlen(words) - 1);
		strncat(words, word->ival, sizeof(words) - strlen(words) - 1);
	}
	env->error(env->arg, "%s=%s is refused: it may be %s", option->name,
		   text, words);
	return EINVAL;
}

static const char *text_of(const struct option_texts *texts,
			   const struct fio_option *option)
{
	return *(char *const *)((const char *)texts + option->off1);
}

static int read_rule(size_t i, const struct option_texts *texts,
		     const struct engine_env *env, struct engine_conf *conf)
{
	const struct fio_option *option = &engine_options[i];
	const char *text = text_of(texts, option);

	switch (rules[i].kind) {
	case RULE_WORD:
		return read_word(&rules[i], option, text, env, conf);
	case RULE_NUMBER:
	case RULE_TIME:
		return read_number(&rules[i], option->name, text, env, conf);
	case RULE_TEXT:
		break;
	}
	return 0;
}

static int read_region_mem(const char *text, const struct engine_env *env,
			   struct engine_conf *conf)
{
	conf->region_path = NULL;
	if (!strcmp(text, "malloc")) {
		conf->region_mem = REGION_MALLOC;
		return 0;
	}
	if (!strcmp(text, "hugepage")) {
		conf->region_mem = REGION_HUGEPAGE;
		return 0;
	}
	if (!strchr(text, '/')) {
		env->error(env->arg,
			   "region_mem=%s is refused: it may be malloc, "
			   "hugepage, or a path with a '/' in it",
			   text);
		return EINVAL;
	}
	conf->region_mem = REGION_FILE;
	conf->region_path = text;
	return 0;
}

static int read_allow(const char *text, const struct engine_env *env,
		      struct engine_conf *conf)
{
	const char *wrong, *item;
	int length;

	if (!text)
		return 0;
	wrong = allow_parse(text, &conf->allow, &item, &length);
	if (!wrong)
		return 0;
	env->error(env->arg,
		   "allow=%s is refused: \"%.*s\" %s; give addresses and "
		   "prefixes, as 10.0.0.0/24,fd00::7",
		   text, length, item, wrong);
	return EINVAL;
}

static int read_token(const struct option_texts *texts,
		      const struct engine_env *env, struct engine_conf *conf)
{
	const char *text = texts->token;
	size_t length = text ? strlen(text) : 0;

	if (text && texts->token_file) {
		env->error(env->arg, "token= and token_file= are refused "
				     "together: leave one out");
		return EINVAL;
	}
	if (texts->token_file)
		return -token_read(texts->token_file, env, &conf->token);
	if (text && (!length || length > CONF_TOKEN_BYTES)) {
		env->error(env->arg,
			   "token= of %zu bytes is refused: it has 1 to %u",
			   length, CONF_TOKEN_BYTES);
		return EINVAL;
	}
	memcpy(conf->token.bytes, text ? text : "", length);
	conf->token.nr_bytes = (uint16_t)length;
	return 0;
}

/* HOST/PORT/VERB, as in old job files of fio's own rdma engine. */
static bool is_peer_name(const char *text)
{
	const char *port = text ? strchr(text, '/') : NULL;
	size_t nr_digits = port ? strspn(port + 1, "0123456789") : 0;

	return nr_digits && port[1 + nr_digits] == '/';
}

/* Why an initiator over RDMA without hostname= is refused. */
static const char *no_hostname(const struct thread_data *td)
{
	if (is_peer_name(td->o.filename))
		return "filename=HOST/PORT/VERB is refused: here it is "
		       "hostname=HOST and port=PORT, and rw= is the direction";
	return "hostname= is missing: give the target's name or address, "
	       "role=target if this is the side that lends its memory, or "
	       "transport=memory to run without a target";
}

/* Options that are fine each, but not together. NULL, or a sentence. */
static const char *unfit_together(const struct thread_data *td,
				  const struct engine_conf *conf)
{
	if (conf->role == ROLE_TARGET && conf->transport == TRANSPORT_MEMORY)
		return "role=target is refused with transport=memory: there "
		       "the initiator brings its own target, so leave this "
		       "job out";
	if (conf->role == ROLE_INITIATOR && conf->transport == TRANSPORT_RDMA &&
	    !conf->hostname)
		return no_hostname(td);
	return NULL;
}

/* A job file of fio's own rdma engine: is its verb= what rw= says? */
static int check_verb(const struct thread_data *td,
		      const struct engine_env *env,
		      const struct engine_conf *conf)
{
	const enum td_ddir rw = td->o.td_ddir & (TD_DDIR_READ | TD_DDIR_WRITE);
	const bool reads = conf->verb == VERB_READ;

	switch (conf->verb) {
	case VERB_ANY:
		return 0;
	case VERB_SEND:
	case VERB_RECV:
		env->error(env->arg,
			   "verb=%s is refused: work is one-sided here; use "
			   "rw=write on the side that has hostname=, and "
			   "role=target on the other",
			   conf->verb == VERB_SEND ? "send" : "recv");
		return EINVAL;
	default:
		break;
	}
	if (conf->role == ROLE_TARGET ||
	    rw == (reads ? TD_DDIR_READ : TD_DDIR_WRITE))
		return 0;
	env->error(env->arg,
		   "verb=%s and rw=%s disagree: rw= is the direction here, so "
		   "set rw=%s%s",
		   reads ? "read" : "write", ddir_str(td->o.td_ddir),
		   td_random(td) ? "rand" : "", reads ? "read" : "write");
	return EINVAL;
}

/* What fio's core offers and a region cannot do. NULL, or a sentence. */
static const char *unfit_mode(struct thread_data *td)
{
	const struct thread_options *o = &td->o;

	if (o->nr_files > 1)
		return "more than one file is refused (nrfiles=, filename= "
		       "with ':', or a log that names several): the target's "
		       "region is one; part it with offset= instead";
	if (td_trim(td) || o->trim_percentage)
		return "trim is refused (rw=, trim_percentage=): RDMA has no "
		       "such operation; use reads and writes";
	if (o->sync_file_range)
		return "sync_file_range= is refused: it starts or awaits the "
		       "writing of a page cache, and there is none; use "
		       "fsync=";
	if (o->sync_io)
		return "sync= is refused: the end of a write does not show "
		       "that it was placed; use fsync=1, and iodepth=1 if "
		       "each write is to wait for the one before";
	if (o->zone_mode == ZONE_MODE_ZBD)
		return "zonemode=zbd is refused: memory has no zones; leave "
		       "it out";
	if (o->pre_read)
		return "pre_read=1 is refused: there is no file to read "
		       "ahead; leave it out";
	if (o->read_iolog_chunked)
		return "read_iolog_chunked=1 is refused: it replaces the "
		       "buffers after they were registered; leave it out";
	if (o->io_submit_mode == IO_MODE_OFFLOAD)
		return "io_submit_mode=offload is refused: a queue has one "
		       "thread; use numjobs= for more";
	return NULL;
}

static int check_amounts(struct thread_data *td, const struct engine_env *env)
{
	if (td_max_bs(td) > UINT32_MAX) {
		env->error(env->arg,
			   "bs=%llu is refused: one I/O has at most %u bytes",
			   td_max_bs(td), UINT32_MAX);
		return EINVAL;
	}
	if (td->o.iodepth > WRB_MAX_OPS) {
		env->error(env->arg, "iodepth=%u is refused: at most %u",
			   td->o.iodepth, WRB_MAX_OPS);
		return EINVAL;
	}
	return 0;
}

/* fio maps this file as long as it is, and dies where its buffers go beyond. */
static int check_buffer_file(struct thread_data *td,
			     const struct engine_env *env)
{
	const struct thread_options *o = &td->o;
	unsigned long long bytes = o->iodepth * td_max_bs(td);
	struct stat found = { 0 };

	if (o->mem_type != MEM_MMAPSHARED || !o->mmapfile)
		return 0;
	if (o->odirect || o->mem_align)
		bytes += (unsigned long long)page_size + o->mem_align;
	stat(o->mmapfile, &found);
	if ((unsigned long long)found.st_size >= bytes)
		return 0;
	env->error(env->arg,
		   "iomem=mmapshared:%s needs a file of %llu bytes, iodepth= "
		   "times bs=: make it with truncate -s",
		   o->mmapfile, bytes);
	return EINVAL;
}

int options_read(struct thread_data *td, const struct engine_env *env,
		 struct engine_conf *conf)
{
	const struct option_texts *texts = td->eo;
	const char *unfit;
	size_t i;
	int rc;

	memset(conf, 0, sizeof(*conf));
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (read_rule(i, texts, env, conf))
			return EINVAL;
	if (read_region_mem(texts->region_mem, env, conf))
		return EINVAL;
	if (read_allow(texts->allow, env, conf))
		return EINVAL;
	rc = read_token(texts, env, conf);
	if (rc)
		return rc;
	conf->hostname = texts->hostname;
	conf->bindname = texts->bindname;
	conf->stats_file = texts->stats_file;

	unfit = unfit_together(td, conf);
	if (!unfit)
		unfit = unfit_mode(td);
	if (unfit) {
		env->error(env->arg, "%s", unfit);
		return EINVAL;
	}
	rc = check_verb(td, env, conf);
	if (!rc)
		rc = check_amounts(td, env);
	return rc ? rc : check_buffer_file(td, env);
}

/* fio knows "not given" as 0 and, with fill_device, as all ones. */
static bool size_is_given(const struct thread_options *o)
{
	return o->size && o->size != -1ULL;
}

static int file_bytes_fixed(const struct thread_data *td,
			    const struct engine_env *env, uint64_t *bytes)
{
	const struct thread_options *o = &td->o;
	uint64_t end = o->start_offset +
		       td->subjob_number * o->offset_increment + o->size;
	bool percent = o->start_offset_percent || o->offset_increment_percent;

	if (o->file_size_low != o->file_size_high) {
		env->error(env->arg, "filesize= as a range is refused: the "
				     "region has one size");
		return EINVAL;
	}
	if (size_is_given(o) && !percent && end > o->file_size_low) {
		env->error(env->arg,
			   "offset= and size= reach %llu bytes, beyond "
			   "filesize=%llu: raise filesize= or leave it out",
			   (unsigned long long)end, o->file_size_low);
		return EINVAL;
	}
	*bytes = o->file_size_low;
	return 0;
}

static int file_bytes_of(const struct thread_data *td,
			 const struct engine_env *env, uint64_t *bytes)
{
	const struct thread_options *o = &td->o;
	uint64_t start;

	if (o->file_size_low)
		return file_bytes_fixed(td, env, bytes);
	if (!size_is_given(o)) {
		env->error(env->arg, "size= is required, in bytes: how much "
				     "of the target's region the job uses; in "
				     "percent it needs filesize= too");
		return EINVAL;
	}
	if (o->start_offset_percent || o->offset_increment_percent) {
		env->error(env->arg, "offset= in percent needs filesize=, the "
				     "size of the target's region");
		return EINVAL;
	}
	start = o->start_offset + td->subjob_number * o->offset_increment;
	if (__builtin_add_overflow(start, o->size, bytes)) {
		env->error(env->arg, "offset= and size= reach beyond 2^64");
		return EINVAL;
	}
	return 0;
}

/*
 * Kept from the first call on: replaying a log, fio adds the log's bytes to
 * size= between setup and init.
 */
int options_file_bytes(const struct thread_data *td,
		       const struct engine_env *env, uint64_t *bytes)
{
	struct option_texts *texts = td->eo;
	int rc;

	if (!texts->file_bytes) {
		rc = file_bytes_of(td, env, &texts->file_bytes);
		if (rc)
			return rc;
	}
	*bytes = texts->file_bytes;
	return 0;
}

void options_note_setup(struct thread_data *td)
{
	struct option_texts *texts = td->eo;

	texts->setup_pid = getpid();
}

pid_t options_setup_pid(const struct thread_data *td)
{
	const struct option_texts *texts = td->eo;

	return texts->setup_pid;
}

static bool is_set(const struct option_texts *texts,
		   const struct fio_option *option)
{
	const char *text = text_of(texts, option);

	return text && (!option->def || strcmp(text, option->def));
}

static void advise_unused(const struct option_texts *texts,
			  const struct engine_conf *conf,
			  const struct engine_env *env)
{
	const bool target = conf->role == ROLE_TARGET;
	unsigned int job = target ? FOR_TARGET : FOR_INITIATOR;
	char names[512] = "";
	size_t i;

	if (conf->transport == TRANSPORT_MEMORY)
		job |= FOR_MEMORY;
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].users & job || !is_set(texts, &engine_options[i]))
			continue;
		snprintf(names + strlen(names), sizeof(names) - strlen(names),
			 "%s%s=", *names ? ", " : "", engine_options[i].name);
	}
	if (*names)
		env->info(env->arg, "role=%s makes no use of %s: leave it out",
			  target ? "target" : "initiator", names);
}

/* Of batches that fio's reaping will break into single doorbells. */
static void advise_batches(const struct thread_options *o,
			   const struct engine_env *env)
{
	unsigned int batch = o->iodepth_batch;

	if (batch < 2 || o->iodepth_batch_complete_max >= batch ||
	    o->iodepth_low + batch <= o->iodepth)
		return;
	env->info(env->arg,
		  "iodepth_batch_complete_max=%u makes fio reap, and then "
		  "submit, fewer I/Os at a time than iodepth_batch_submit=%u: "
		  "set iodepth_batch_complete_max=%u or more to keep batches "
		  "whole",
		  o->iodepth_batch_complete_max, batch, o->iodepth);
}

void options_advise(const struct thread_data *td,
		    const struct engine_conf *conf,
		    const struct engine_env *env)
{
	const struct option_texts *texts = td->eo;

	if (td->subjob_number)
		return;
	advise_unused(texts, conf, env);
	if (texts->token_file)
		token_advise(texts->token_file, env);
	if (conf->role == ROLE_INITIATOR)
		advise_batches(&td->o, env);
}
