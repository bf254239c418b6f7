/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "rng.h"
#include "samples.h"

static const char good[] =
    "nettopo-samples/1\n"
    "generator nettopo 0.1.0\n"
    "job 42 1\n"
    "cluster c\n"
    "level quick\n"
    "created 2026-01-01T00:00:00Z\n"
    "budget 5\n"
    "pattern ring\n"
    "spare 2\n"
    "host n1\n"
    "host n2\n"
    "host n10\n"
    "traffic 0 1 65536\n"
    "traffic 0 7 0.100000001\n"
    "traffic 3 4 12582912\n"
    "missing 2 no answer in 2 s\n"
    "model packages=1 numa=1 cores=2 threads=4 allowed=4 l3=33554432 cpu=A B\n"
    "model packages=2 numa=2 cores=8 threads=8 allowed=4 nic=mlx5_0:1,0000:3b:00.0,1,rc_mlx5 "
    "gpu=0000:17:00.0,1,mlx5_0:1\n"
    "inside 0 1\n"
    "cores 0 numa 0.123457\n"
    "cores 0 machine 0.3\n"
    "inside 1 0\n"
    "transport 2 rc_mlx5/mlx5_0:1\n"
    "transport 1 tcp/eth0\n"
    "phase latency 0.125\n"
    "round\n"
    "latency 0 1 8 30 0.61 0.01 0.7\n"
    "round\n"
    "failed 1 2 no answer\n"
    "phase-end 0.25\n"
    "phase stress\n"
    "round\n"
    "bandwidth 0 1 1048576 0.000123456789\n"
    "prtt 0 1 8 10 12.5 3.25\n"
    "prtt 0 1 8 10 12.5 3.25 0.125 0\n"
    "prtt 1 0 8 1 0 3.25 0.125 800 fab1\n"
    "prtt 1 0 8 1 0 3.5 0 0 fab1\n"
    "kernel sr:2 65536 20 12.5 12.25 12.875\n"
    "kernel sr:2 65536 20 12.5 12.25 12.875 3\n"
    "kernel a2a 65536 20 12.5 12.25 12.875 2 12 2 0\n"
    "warning level full: PRTT was cut short\n"
    "end partial 1.5\n";

static int read_in_pieces(const char *text, size_t bytes, size_t piece, struct nt_samples **out,
                          struct nt_err *err)
{
    struct nt_samples_reader *r;
    assert_int_equal(nt_samples_reader_create("f", &r, err), 0);
    int rc = 0;
    for (size_t k = 0; k < bytes && rc == 0; k += piece)
        rc = nt_samples_reader_feed(r, text + k, bytes - k < piece ? bytes - k : piece, err);
    if (rc == 0)
        rc = nt_samples_reader_finish(r, out, err);
    nt_samples_reader_destroy(r);
    return rc;
}

TEST(a_good_text_is_read_in_pieces_of_any_size)
{
    for (size_t piece = 1; piece < 80; piece += 13) {
        SCOPED(samples) *s;
        assert_int_equal(read_in_pieces(good, sizeof good - 1, piece, &s, &err), 0);
        assert_string_equal(s->job.generator, "nettopo 0.1.0");
        assert_int_equal(s->job.id, 42);
        assert_int_equal(s->job.restart, 1);
        assert_string_equal(s->job.pattern, "ring");
        assert_int_equal(s->job.spare, 2);
        assert_int_equal(s->hosts, 3);
        assert_string_equal(s->host_name[2], "n10");
        assert_null(s->missing[0]);
        assert_string_equal(s->missing[2], "no answer in 2 s");
        assert_int_equal(s->phases, 2);
        assert_int_equal(s->rounds, 3);
        assert_int_equal(s->phase[0].rounds, 2);
        assert_true(s->phase[0].seconds == 0.25);
        assert_true(s->phase_begin_s[0] == 0.125 && isnan(s->phase_begin_s[1]));
        assert_true(isnan(s->phase[1].seconds));
        assert_int_equal(s->samples, 10);
        assert_true(s->sample[0].value_us == 0.61);
        assert_int_equal(s->sample[1].round, 1);
        assert_int_equal(s->models, 2);
        assert_int_equal(s->transports, 2);
        assert_int_equal(s->transport[0].hosts, 2);
        assert_string_equal(s->transport[1].used, "tcp/eth0");
        assert_int_equal(s->inside[0].model, 1);
        assert_int_equal(s->inside[2].model, NT_SAMPLES_NO_MODEL);
        assert_true(s->inside[0].latency_us[NT_BETWEEN_MACHINE] == 0.3f);
        assert_true(s->inside[0].latency_us[NT_BETWEEN_CACHE] == 0);
        uint32_t crowd[NT_SAMPLES_PARTICIPANTS_MAX];
        assert_int_equal(nt_samples_participants(s, &s->sample[8], crowd), 0);
        assert_int_equal(nt_samples_participants(s, &s->sample[9], crowd), 2);
        assert_int_equal(crowd[0], 2);
        assert_int_equal(crowd[1], 0);
        assert_int_equal(s->sample[9].b, 12);
        assert_string_equal(s->text[s->sample[1].text], "no answer");
        assert_close(s->sample[2].value_us, 123.456789, 1e-9);
        assert_true(s->sample[3].prtt.delay_us == 12.5 && s->sample[3].value_us == 3.25);
        assert_true(s->sample[4].prtt.se_us == 0.125 && s->sample[4].text == 0);
        assert_true(s->sample[5].prtt.se_us == 0.125 && s->sample[5].prtt.hold_us == 800);
        assert_string_equal(s->text[s->sample[5].text - 1], "fab1");
        assert_int_equal(s->sample[6].text, s->sample[5].text);
        assert_true(s->sample[7].kernel.low_us == 12.25 && s->sample[7].kernel.high_us == 12.875);
        assert_int_equal(s->warnings, 1);
        assert_int_equal(s->status, NT_STATUS_PARTIAL);
        char *text;
        size_t bytes;
        must(nt_samples_write(s, &text, &bytes, &err));
        assert_int_equal(bytes, sizeof good - 1);
        assert_string_equal(text, good);
        free(text);
    }
}

TEST(phases_are_accounted_for)
{
    static const char text[] = "nettopo-samples/1\nhost a\nhost b\nhost c\n"
                               "phase one\nround\nlatency 0 1 8 1 1 0 1\nlatency 1 0 8 1 1 0 1\n"
                               "failed 0 2 x\nphase-end 1\nphase none\nphase-end 0\n"
                               "phase two 1.5\nround\nlatency 0 2 8 1 1 0 1\nfailed 1 2 x\n"
                               "kernel a2a 8 1 1 1 1 2 1 0 1\nend ok 2\n";
    static const struct nt_phase_account expected[] = {{1, 1, 1, 2}, {0}, {1, 1, 1, 1}};
    SCOPED(samples) *s;
    must(read_in_pieces(text, sizeof text - 1, 1000, &s, &err));
    for (size_t k = 0; k < 3; k++) {
        struct nt_phase_account account;
        must(nt_samples_account(s, k, &account, &err));
        assert_int_equal(account.pairs, expected[k].pairs);
        assert_int_equal(account.failed, expected[k].failed);
        assert_int_equal(account.hosts, expected[k].hosts);
        assert_int_equal(account.host, expected[k].host);
    }
}

#define HEAD "nettopo-samples/1\nhost a\nhost b\n"
#define MODEL "model packages=1 numa=1 cores=1 threads=1 allowed=1\n"
#define BODY HEAD "phase p\nround\n"

TEST(a_bad_text_is_refused_with_its_line_and_reason)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f:1: expected \"end\" as the last line, found the end of the file"},
        {"\n", "f:1: expected \"nettopo-samples/1\", found \"\""},
        {"nettopo-samples/2\n", "f:1: expected \"nettopo-samples/1\", found \"nettopo-samples/2\""},
        {HEAD, "f:4: expected \"end\" as the last line, found the end of the file"},
        {HEAD "what 1\n", "f:4: expected a line of samples, found \"what\""},
        {HEAD "\n", "f:4: expected a line of samples, found nothing"},
        {HEAD "host a\n", "f:4: host a: expected each host once"},
        {HEAD "host a/b\n",
         "f:4: host name \"a/b\": expected only letters, digits, '.', '-' and '_'"},
        {HEAD "host\n", "f:4: expected a host name, found nothing"},
        {HEAD "missing 2 x\n", "f:4: missing host 2: expected a number below 2"},
        {HEAD "missing 1\n", "f:4: expected a reason, found nothing"},
        {HEAD "traffic 0 1\n", "f:4: expected bytes, found nothing"},
        {HEAD "traffic 0 1 5 5\n", "f:4: expected the end of the line, found \"5\""},
        {HEAD "traffic 1 0 5\n", "f:4: traffic of ranks 1 and 0: expected two ranks below 1048576, "
                                 "ascending, each pair once"},
        {HEAD "traffic 0 1 5\ntraffic 0 1 5\n",
         "f:5: traffic of ranks 0 and 1: expected two ranks below 1048576, ascending, "
         "each pair "
         "once"},
        {HEAD "traffic 0 1048576 5\n", "f:4: traffic of ranks 0 and 1048576: expected "
                                       "two ranks below 1048576, ascending, each "
                                       "pair once"},
        {HEAD "traffic 0 1 0\n", "f:4: traffic of 0 bytes: expected more than 0, up to 1e+30"},
        {HEAD "traffic 0 1 1e-60\n", "f:4: traffic of 1e-60 bytes: expected more than 0, up to "
                                     "1e+30"},
        {HEAD "traffic 0 1 1e31\n", "f:4: traffic of 1e+31 bytes: expected more than 0, up to "
                                    "1e+30"},
        {HEAD "job 18446744073709551616\n",
         "f:4: expected a job id, found \"18446744073709551616\""},
        {HEAD "job 1 2 3\n", "f:4: expected the end of the line, found \"3\""},
        {HEAD "level a\nlevel b\n", "f:5: expected \"level\" once, found it again"},
        {HEAD "budget 0\n", "f:4: expected seconds over 0 and up to 1e9, found \"0\""},
        {HEAD "level \tquick\n", "f:4: expected text, found the control byte 0x09"},
        {HEAD "level quick\r\n", "f:4: expected text, found the control byte 0x0d"},
        {HEAD "level quick \n", "f:4: expected no space at the end of the line"},
        {HEAD "prior 3\nbelieved 0 0 0\nbelieved 1 0 1\nend ok 1\n",
         "f: prior: hosts 0 and 1: together at level 0 and apart above it"},
        {HEAD "round\n", "f:4: a round: expected a phase before it"},
        {HEAD "phase-end 1\n", "f:4: the end of a phase: expected a phase before it"},
        {HEAD "phase a b\n", "f:4: expected seconds, found \"b\""},
        {HEAD "phase a -1\n", "f:4: phase from -1 s on: expected 0 to 1e9"},
        {HEAD "phase a 1 2\n", "f:4: expected the end of the line, found \"2\""},
        {HEAD "phase a1234567890123456789012345678901\n",
         "f:4: expected the name of a phase, found \"a1234567890123456789012345678901\""},
        {HEAD "phase p\nlatency 0 1 8 1 1 1 1\n",
         "f:5: a sample: expected a phase and a round before it"},
        {BODY "host c\n", "f:6: host c: expected before the first phase"},
        {BODY "latency 0 2 8 1 1 1 1\n",
         "f:6: hosts 0 and 2: expected two different numbers below 2"},
        {BODY "latency 1 1 8 1 1 1 1\n",
         "f:6: hosts 1 and 1: expected two different numbers below 2"},
        {BODY "latency 0 1 8 1 -3 1 1\n", "f:6: latency -3 us: expected 0 to 1e+15"},
        {BODY "latency 0 1 8 1 1e16 1 1\n", "f:6: latency 1e+16 us: expected 0 to 1e+15"},
        {BODY "latency 0 1 8 1 nan 1 1\n", "f:6: expected the low latency in us, found \"nan\""},
        {BODY "latency 0 1 8 1 0x1p3 1 1\n",
         "f:6: expected the low latency in us, found \"0x1p3\""},
        {BODY "latency 0 1 8 1 1e999 1 1\n",
         "f:6: expected the low latency in us, found \"1e999\""},
        {BODY "latency 0 1 8 1 1  1 1\n", "f:6: expected its standard error in us, found nothing"},
        {BODY "latency 0 1 8 1 1 1\n", "f:6: expected the median in us, found nothing"},
        {BODY "latency 0 1 8 1 1 1 1 1\n", "f:6: expected the end of the line, found \"1\""},
        {BODY "latency 0 1 8 4294967296 1 1 1\n", "f:6: expected a count, found \"4294967296\""},
        {BODY "latency -1 1 8 1 1 1 1\n", "f:6: expected the number of a host, found \"-1\""},
        {BODY "bandwidth 0 1 1 0\n", "f:6: flow of 0 us: expected more than 0"},
        {HEAD "model packages=1\n", "f:4: a model of a host: expected numa, found \"\""},
        {HEAD MODEL MODEL, "f:5: expected each model once, found 0 again"},
        {HEAD MODEL "inside 2 0\n", "f:5: inside of host 2: expected a number below 2"},
        {HEAD MODEL "inside 0 1\n", "f:5: model 1 of host 0: there are 1"},
        {HEAD "cores 0 near 1\n",
         "f:4: expected core, cache, numa, package or machine, found \"near\""},
        {HEAD "cores 0 core 0\n",
         "f:4: latency between cores 0 us: expected over 0, at most 1e+06"},
        {HEAD "cores 0 core\n", "f:4: expected the latency in us, found nothing"},
        {BODY "kernel\n", "f:6: expected the name of a kernel, found nothing"},
        {BODY "kernel a2a 8 1 1 1 1 2 0 0 1\n",
         "f:6: a kernel of 2 hosts and 0 messages: expected 2 to 64 hosts"},
        {BODY "kernel a2a 8 1 1 1 1 2 4 0\n", "f:6: expected the number of a host, found nothing"},
        {BODY "kernel a2a 8 1 1 1 1 2 4 0 0\n", "f:6: a kernel: expected host 0 once"},
        {BODY "kernel a2a 8 1 1 1 1 2 4 0 9\n", "f:6: a kernel with host 9: there are 2"},
        {BODY "kernel a2a 8 1 1 1 1 2 4 0 1 1\n", "f:6: expected the end of the line, found \"1\""},
        {BODY "failed 0 1\n", "f:6: expected a reason, found nothing"},
        {BODY "warning\n", "f:6: expected a text, found nothing"},
        {BODY "end well 1\n", "f:6: expected ok, partial or failed, found \"well\""},
        {BODY "end ok\n", "f:6: expected seconds, found nothing"},
        {BODY "end ok -1\n", "f:6: expected seconds from 0 to 1e9, found \"-1\""},
        {BODY "end ok 1\nround\n", "f:7: expected nothing after \"end\", found \"round\""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_samples *s = NULL;
        assert_int_equal(read_in_pieces(table[k].text, strlen(table[k].text), 7, &s, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_string_equal(err.text, table[k].says);
        assert_null(s);
    }
}

TEST(an_endless_line_fails_early)
{
    struct nt_samples_reader *r;
    must(nt_samples_reader_create("f", &r, &err));
    char piece[1000];
    memset(piece, 'x', sizeof piece);
    int fed = 0;
    while (nt_samples_reader_feed(r, piece, sizeof piece, &err) == 0)
        fed++;
    assert_int_equal(fed, NT_SAMPLES_LINE_MAX / 1000);
    assert_string_equal(err.text, "f:1: expected lines of at most 4096 bytes, found a longer one");
    assert_int_equal(nt_samples_reader_feed(r, "x", 1, &err), -1);
    nt_samples_reader_destroy(r);
}

TEST(a_nul_byte_is_refused)
{
    static const char text[] = "nettopo-samples/1\nhost a\0b\n";
    struct nt_samples *s = NULL;
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 100, &s, &err), -1);
    assert_string_equal(err.text, "f:2: expected text, found a zero byte");
}

static void add_random(struct nt_samples *s, struct nt_rng *rng)
{
    struct nt_sample x = {.kind = (enum nt_sample_kind)nt_rng_below(rng, 5)};
    x.a = (uint32_t)nt_rng_below(rng, s->hosts);
    x.b = (x.a + 1 + (uint32_t)nt_rng_below(rng, s->hosts - 1)) % (uint32_t)s->hosts;
    x.bytes = (double)nt_rng_below(rng, 1u << 30) / 3;
    x.count = (uint32_t)nt_rng_next(rng);
    x.value_us = exp(20 * nt_rng_uniform(rng) - 10);
    /* by whatever name its kind has for these */
    x.prtt.se_us = nt_rng_uniform(rng);
    x.prtt.delay_us = nt_rng_below(rng, 2) ? x.value_us / 3 : 0;
    must(nt_samples_add(s, x, "word", &err));
}

static struct nt_samples *random_samples(struct nt_rng *rng)
{
    struct nt_samples *s;
    must(nt_samples_create(&s, &err));
    s->job.id = nt_rng_next(rng);
    s->job.restart = 3;
    s->job.budget_s = nt_rng_uniform(rng);
    size_t hosts = 2 + nt_rng_below(rng, 200);
    for (size_t k = 0; k < hosts; k++) {
        char name[32];
        snprintf(name, sizeof name, "host-%zu.x_y", k * 7919 % hosts);
        must(nt_samples_add_host(s, name, &err));
        if (nt_rng_below(rng, 9) == 0)
            must(nt_samples_set_missing(s, k, "  \t two  words ", &err));
    }
    for (uint32_t a = (uint32_t)nt_rng_below(rng, 200), b = a; a > 0; a--)
        assert_int_equal(
            nt_samples_add_traffic(s, b - a, b, exp(40 * nt_rng_uniform(rng) - 20), &err), 0);
    for (size_t k = 0; k < hosts && nt_rng_below(rng, 2) == 0; k++) {
        char text[80];
        uint32_t index;
        snprintf(text, sizeof text, "packages=1 numa=1 cores=%d threads=9 allowed=1",
                 (int)nt_rng_below(rng, 3));
        must(nt_samples_add_model(s, text, &index, &err));
        must(nt_samples_set_model(s, k, index, &err));
        must(nt_samples_set_cores(s, k, (enum nt_between)nt_rng_below(rng, 5),
                                  exp(10 * nt_rng_uniform(rng) - 6), &err));
    }
    for (size_t p = nt_rng_below(rng, 4); p > 0; p--) {
        must(nt_samples_begin_phase(s, "some", &err));
        if (nt_rng_below(rng, 2) == 0)
            must(nt_samples_date_phase(s, nt_rng_uniform(rng), &err));
        for (size_t n = nt_rng_below(rng, 5); n > 0; n--) {
            must(nt_samples_begin_round(s, &err));
            for (size_t k = nt_rng_below(rng, 9); k > 0; k--)
                add_random(s, rng);
        }
        if (nt_rng_below(rng, 2) == 0)
            must(nt_samples_end_phase(s, nt_rng_uniform(rng), &err));
    }
    assert_int_equal(nt_samples_warn(s, &err, "said %s", "\x1b[31m red\n"), 0);
    nt_samples_finish(s, NT_STATUS_OK, nt_rng_uniform(rng));
    return s;
}

static void assert_same_samples(const struct nt_samples *a, const struct nt_samples *b)
{
    assert_int_equal(a->job.id, b->job.id);
    assert_true(a->job.budget_s == b->job.budget_s && a->seconds == b->seconds);
    assert_int_equal(a->hosts, b->hosts);
    assert_int_equal(a->traffic.ntasks, b->traffic.ntasks);
    assert_int_equal(a->traffic.n, b->traffic.n);
    for (size_t k = 0; k < a->traffic.n; k++) {
        assert_int_equal(a->traffic.pair[k][0], b->traffic.pair[k][0]);
        assert_int_equal(a->traffic.pair[k][1], b->traffic.pair[k][1]);
        assert_true(a->traffic.bytes[k] == b->traffic.bytes[k]);
    }
    assert_int_equal(a->phases, b->phases);
    for (size_t k = 0; k < a->phases; k++)
        assert_true(a->phase_begin_s[k] == b->phase_begin_s[k] ||
                    (isnan(a->phase_begin_s[k]) && isnan(b->phase_begin_s[k])));
    assert_int_equal(a->rounds, b->rounds);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->models, b->models);
    for (size_t k = 0; k < a->models; k++)
        assert_string_equal(a->model[k], b->model[k]);
    for (size_t k = 0; k < a->hosts; k++)
        assert_memory_equal(&a->inside[k], &b->inside[k], sizeof a->inside[k]);
    for (size_t k = 0; k < a->samples; k++) {
        const struct nt_sample *x = &a->sample[k], *y = &b->sample[k];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->phase, y->phase);
        assert_int_equal(x->round, y->round);
        assert_int_equal(x->a, y->a);
        assert_int_equal(x->b, y->b);
        assert_int_equal(x->count, y->count);
        assert_true(x->bytes == y->bytes && x->value_us == y->value_us);
        assert_true(x->prtt.se_us == y->prtt.se_us && x->prtt.delay_us == y->prtt.delay_us &&
                    x->prtt.hold_us == y->prtt.hold_us);
    }
}

TEST(what_was_built_reads_back_equal)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 7);
    for (int turn = 0; turn < 300; turn++) {
        SCOPED(samples) *s = random_samples(&rng), *again;
        char *text, *text_again;
        size_t bytes;
        must(nt_samples_write(s, &text, &bytes, &err));
        must(read_in_pieces(text, bytes, 4096, &again, &err));
        assert_same_samples(s, again);
        must(nt_samples_write(again, &text_again, NULL, &err));
        assert_string_equal(text, text_again);
        free(text);
        free(text_again);
    }
}

TEST(latency_takes_the_lowest_of_the_smallest_size_by_direction)
{
    static const char text[] = BODY "latency 0 1 8 30 3 0 3\nlatency 0 1 8 30 2 0 2\n"
                                    "latency 0 1 64 30 1 0 1\nlatency 1 0 8 30 5 0 5\nend ok 1\n";
    SCOPED(samples) *s;
    struct nt_matrix *m;
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 100, &s, &err), 0);
    must(nt_samples_latency(s, 0, &m, NULL, &err));
    assert_true(nt_matrix_get(m, 0, 1) == 2 && nt_matrix_get(m, 1, 0) == 5);
    assert_true(isnan(nt_matrix_get(m, 0, 0)));
    nt_matrix_destroy(m);
    must(nt_samples_latency(s, 64, &m, NULL, &err));
    assert_true(nt_matrix_get(m, 0, 1) == 1 && isnan(nt_matrix_get(m, 1, 0)));
    nt_matrix_destroy(m);
}

TEST(bandwidth_of_a_plan_is_the_median_of_its_flows)
{
    static const char text[] =
        BODY "bandwidth 0 1 1000 1\nphase plan\nround\n"
             "bandwidth 0 1 3000 0.001\nbandwidth 1 0 7000 0.001\nround\n"
             "bandwidth 0 1 1000 0.001\nround\n"
             "bandwidth 0 1 2000 0.001\nbandwidth 1 0 9000 0.001\nend ok 1\n";
    SCOPED(samples) *s;
    SCOPED(matrix) *m;
    assert_int_equal(read_in_pieces(text, sizeof text - 1, 100, &s, &err), 0);
    must(nt_samples_planned_bandwidth(s, &m, &err));
    assert_close(nt_matrix_get(m, 0, 1), 2, 1e-6);
    assert_close(nt_matrix_get(m, 1, 0), 8, 1e-6);
    assert_true(isnan(nt_matrix_get(m, 0, 0)));
}

RUN_TESTS
