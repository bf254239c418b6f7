/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of faults. Each plans one at a host, at that time of the sweep; INFINITY: after a number of
 * calls of its relay or probe. */
#ifndef NT_STORM_FAULTS_H
#define NT_STORM_FAULTS_H

#include <stdint.h>

#include "world.h"

typedef void plan_fault(uint32_t k, double at_s);

plan_fault plan_agent_killed, plan_clock, plan_cut_off, plan_deaf, plan_delayed, plan_disk_full,
    plan_dumb, plan_fabric_down, plan_fabric_pair_cut, plan_few_files, plan_host_down,
    plan_host_stopped, plan_inject, plan_interrupted, plan_knocking, plan_late, plan_munge_down,
    plan_munge_fails, plan_munge_slow, plan_munge_stalls, plan_no_ipv6, plan_no_memory,
    plan_no_network, plan_no_random, plan_no_relay, plan_no_resolver, plan_no_route, plan_pair_cut,
    plan_preempted, plan_probe_killed, plan_probe_late, plan_probe_stopped, plan_relay_killed,
    plan_reset, plan_restarted, plan_rival, plan_slow, plan_slow_lookup, plan_squatter,
    plan_worker_killed, plan_worker_stopped, plan_fabric_switch_down, plan_altered,
    plan_probe_alters, plan_probe_hostile, plan_relay_hostile, plan_no_probe, plan_starved,
    plan_no_sandbox, plan_relay_stays, plan_no_job, plan_cancelled, plan_fabric_two_down,
    plan_ucx_crashes, plan_ucx_aborts, plan_ucx_hangs;

/* It happens then. */
void fault_at(uint32_t k, double at_s, world_event *happen, void *context, uint64_t number);
/* Nothing is promised of the hosts of its block, when it leads one. */
void fault_marks_block(uint32_t k);

/* What was sent from one to the other came after the other had died: it stands for its block. */
void fault_loses_bytes(uint32_t from, uint32_t to);

#endif
