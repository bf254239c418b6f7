/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asserts.h"
#include "clock.h"
#include "hardware.h"
#include "machine_text.h"

/* ---- devices in a /sys of our own ------------------------------------------------------------ */

static char sys[] = "/tmp/test_hardware.XXXXXX";

static void make(const char *path)
{
    char whole[512];
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++) {
        snprintf(whole, sizeof whole, "%s/%.*s", sys, (int)(at - path), path);
        mkdir(whole, 0700);
    }
    snprintf(whole, sizeof whole, "%s/%s", sys, path);
    mkdir(whole, 0700);
}

static void point(const char *link, const char *to)
{
    char whole[512], target[512];
    snprintf(whole, sizeof whole, "%s/%s", sys, link);
    snprintf(target, sizeof target, "%s/%s", sys, to);
    assert_int_equal(symlink(target, whole), 0);
}

static void put(const char *file, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", sys, file);
    int fd = open(whole, O_WRONLY | O_CREAT, 0600);
    assert_at_least(fd, 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int build_sys(void **state)
{
    (void)state;
    memset(sys + sizeof sys - 7, 'X', 6); /* also after an earlier one */
    assert_non_null(mkdtemp(sys));
    make("class/net/eth0");
    make("class/net/lost");
    make("class/net/fab0");
    make("class/infiniband/mlx5_0");
    make("class/net/virt0");
    make("devices/pci0000:00/0000:00:1f.6");
    make("devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0");
    make("devices/pci0000:00/0000:00:03.0/virtio1");
    point("class/net/eth0/device", "devices/pci0000:00/0000:00:1f.6");
    point("class/infiniband/mlx5_0/device", "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0");
    point("class/net/virt0/device", "devices/pci0000:00/0000:00:03.0/virtio1");
    point("class/net/lost/device", "devices/nowhere");
    put("devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/numa_node", "1\n");
    put("devices/pci0000:00/0000:00:1f.6/numa_node", "-1\n");
    return 0;
}

static int remove_one(const char *path, const struct stat *stat, int flag, struct FTW *walk)
{
    (void)stat;
    (void)flag;
    (void)walk;
    return remove(path);
}

static int remove_sys(void **state)
{
    (void)state;
    return nftw(sys, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void a_device_has_its_way_from_the_root(void **state)
{
    static const struct {
        const char *name, *pci;
        int numa;
    } table[] = {
        {"eth0", "0000:00:1f.6", -1},
        {"mlx5_0:1", "0000:3a:00.0/0000:3b:00.0", 1},
        {"virt0", "0000:00:03.0", -1},
        {"fab0", "", -1},
        {"lost", "", -1},
        {"../net/eth0", "", -1},
        {"", "", -1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_nic nic = {.numa = -1};
        snprintf(nic.name, sizeof nic.name, "%s", table[k].name);
        nt_hardware_locate_nic(sys, &nic);
        assert_string_equal(nic.pci, table[k].pci);
        assert_int_equal(nic.numa, table[k].numa);
    }
}

/* ---- GPUs ---- */

static void set_nics(struct nt_machine *m, const char *const *name, size_t n)
{
    *m = (struct nt_machine){.nics = n};
    for (size_t k = 0; k < n; k++)
        snprintf(m->nic[k].name, sizeof m->nic[k].name, "%s", name[k]);
}

/* Two packages; a GPU and mlx5_0 behind one PCI switch, a GPU alone, a GPU and mlx5_1 behind
 * another one, eth0 beside them, and a VGA controller. */
static void a_gpu_has_its_nearest_nics(void **state)
{
    static const char xml[] = "tests/data/hwloc/gpus.xml";
    static const char *const all[] = {"mlx5_0:1", "mlx5_0:2", "mlx5_1:1", "eth0", "none"};
    static const char *const far[] = {"eth0"};
    static const char *const none[] = {"none", "mlx5"};
    static const struct {
        const char *const *nic;
        size_t nics;
        const char *nearest[3];
    } table[] = {
        {all, 5, {"mlx5_0:1,mlx5_0:2", "mlx5_0:1,mlx5_0:2", "mlx5_1:1"}},
        {far, 1, {"eth0", "eth0", "eth0"}},
        {none, 2, {"", "", ""}},
        {NULL, 0, {"", "", ""}},
    };
    static const char *const pci[] = {"0000:17:00.0", "0000:31:00.0", "0000:ca:00.0"};
    static const int numa[] = {0, 0, 1};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_machine m, again;
        char text[NT_MACHINE_TEXT_BYTES];
        set_nics(&m, table[k].nic, table[k].nics);
        nt_hardware_find_gpus("/nowhere", xml, &m);
        assert_int_equal(m.gpus, 3);
        for (size_t g = 0; g < 3; g++) {
            assert_string_equal(m.gpu[g].pci, pci[g]);
            assert_int_equal(m.gpu[g].numa, numa[g]);
            assert_string_equal(m.gpu[g].nics, table[k].nearest[g]);
        }
        nt_machine_write(&m, text);
        must(nt_machine_parse(text, &again, &err));
        assert_memory_equal(again.gpu, m.gpu, sizeof m.gpu);
    }
}

/* hwloc is asked for devices where /sys has a GPU: a VGA controller of a console is none. */
static void a_machine_without_gpus_has_none(void **state)
{
    struct nt_machine m = {.gpus = 5};
    (void)state;
    nt_hardware_find_gpus("/nowhere", NULL, &m);
    assert_int_equal(m.gpus, 0);
    make("bus/pci/devices/0000:03:00.0");
    put("bus/pci/devices/0000:03:00.0/class", "0x030000\n");
    put("bus/pci/devices/0000:03:00.0/vendor", "0x1a03\n");
    m.gpus = 5;
    nt_hardware_find_gpus(sys, NULL, &m);
    assert_int_equal(m.gpus, 0);
    nt_hardware_find_gpus("/nowhere", "tests/data/hwloc/none.xml", &m);
    assert_int_equal(m.gpus, 0);
}

/* ---- this machine ---------------------------------------------------------------------------- */

static void this_machine_has_processors(void **state)
{
    static const char *const rails[] = {"lo"};
    struct nt_core_pair pair[NT_BETWEEN_END];
    struct nt_machine m, again;
    char text[NT_MACHINE_TEXT_BYTES];
    cpu_set_t mine;
    (void)state;
    double began = nt_clock_s();
    if (!nt_hardware_detect(rails, 1, &m, pair))
        skip();
    nt_machine_write(&m, text);
    print_message("%s (%.1f ms)\n", text, (nt_clock_s() - began) * 1e3);
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_int_equal(m.allowed, CPU_COUNT(&mine));
    assert_at_least(m.cores, 1);
    assert_at_least(m.threads, m.cores);
    assert_at_most(m.allowed, m.threads);
    assert_int_equal(m.nics, 1);
    assert_string_equal(m.nic[0].pci, "");
    must(nt_machine_parse(text, &again, &err));
    bool any = false;
    for (int b = 0; b < NT_BETWEEN_END; b++) {
        if (!pair[b].there)
            continue;
        any = true;
        assert_true(CPU_ISSET(pair[b].cpu[0], &mine) && CPU_ISSET(pair[b].cpu[1], &mine));
        double us = 0, loads = 0;
        /* where others keep both busy, ours may not run at once for long */
        for (int attempt = 0; attempt < 50 && us == 0; attempt++) {
            began = nt_clock_s();
            us = nt_hardware_core_latency_us(&pair[b], 0.02);
            assert_below(nt_clock_s() - began, 30);
        }
        if (us == 0 && getloadavg(&loads, 1) == 1 && loads > 2 * CPU_COUNT(&mine))
            continue;
        print_message("%s, CPUs %u and %u: %.3f us one way\n", nt_between_names[b], pair[b].cpu[0],
                      pair[b].cpu[1], us);
        assert_above(us, 0.001);
        assert_below(us, 0.02e6);
    }
    assert_true(any == (m.allowed > 1));
}

/* Confined to one of them, as a prolog may be. */
static void only_what_is_allowed_is_used(void **state)
{
    struct nt_core_pair pair[NT_BETWEEN_END];
    struct nt_machine all, confined;
    cpu_set_t mine, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    if (!nt_hardware_detect(NULL, 0, &all, pair) || CPU_COUNT(&mine) < 2)
        skip();
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &mine))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(nt_hardware_detect(NULL, 0, &confined, pair));
    assert_int_equal(confined.allowed, 1);
    assert_int_equal(confined.threads, all.threads);
    for (int b = 0; b < NT_BETWEEN_END; b++)
        assert_false(pair[b].there);
    assert_int_equal(sched_setaffinity(0, sizeof mine, &mine), 0);
}

static void no_pair_takes_no_time(void **state)
{
    const struct nt_core_pair none = {0}, same = {true, {0, 0}}, far = {true, {0, 1023}};
    (void)state;
    assert_true(nt_hardware_core_latency_us(&none, 1) == 0);
    assert_true(nt_hardware_core_latency_us(&same, 1) == 0);
    /* no such processor: nobody throws back, and the time ends it */
    double began = nt_clock_s();
    assert_true(nt_hardware_core_latency_us(&far, 0.01) == 0);
    assert_below(nt_clock_s() - began, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_has_its_way_from_the_root, build_sys, remove_sys),
        cmocka_unit_test(a_gpu_has_its_nearest_nics),
        cmocka_unit_test_setup_teardown(a_machine_without_gpus_has_none, build_sys, remove_sys),
        cmocka_unit_test(this_machine_has_processors),
        cmocka_unit_test(only_what_is_allowed_is_used),
        cmocka_unit_test(no_pair_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
