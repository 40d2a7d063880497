// Requests: a random call of a given kind, other than a commit.

import { registration, TARGETS } from "../../../src/testing/conformance/fixture.ts";
import type { LeaseInstancesRequest, LeaseTasksRequest } from "../../../src/core/provider/index.ts";
import type { Caller } from "./caller.ts";
import type { Call } from "./calls.ts";
import type { Kind } from "./commands.ts";
import { randomItem, type ItemKind } from "./items.ts";
import { hasTies } from "./model-leases.ts";

const ALL_TARGETS = [...TARGETS, ...TARGETS.map((target) => `${target}#2`)];
const SHORT = [1_000, 2_000.25, 500, 5_000] as const;
const LONG = [12_000, 600_000, 6 * 3_600_000, 8 * 86_400_000] as const;

export function randomCall(kind: Exclude<Kind, ItemKind>, caller: Caller): Call {
  switch (kind) {
    case "settle": {
      const past = caller.of(caller.pastItems.slice(-8));
      const item = past === undefined || caller.oneIn(3) ? randomItem("turn", caller) : past;
      return { method: kind, item };
    }
    case "leaseInstances":
      return { method: kind, request: instancesRequest(caller) };
    case "leaseTasks": {
      const request = tasksRequest(caller);
      return { method: kind, request, isKnown: caller.store.runtimes.has(request.owner) };
    }
    case "takeMessages":
      return { method: kind, from: { key: caller.hold().key }, max: caller.of([100, 1]) };
    case "renewInstances": {
      const [first, second] = [caller.hold(3), caller.hold(3)];
      const holds = first.key === second.key ? [first] : [first, second];
      const leases = holds.map(({ key, token }) => ({ key, token }));
      return { method: kind, holds: leases, leaseMs: 10_000 };
    }
    case "renewTasks":
      return { method: kind, claims: [caller.claim()], leaseMs: 10_000 };
    case "heartbeatTasks": {
      const details = `"details ${caller.fresh()}"`;
      const progress = `"progress ${caller.fresh()}"`;
      const report = caller.of([{ details }, { progress }, { details, progress }, {}]);
      return { method: kind, heartbeats: [{ task: caller.claim(), ...report }] };
    }
    case "lostTasks":
      return { method: kind, claims: [caller.claim()] };
    case "registerRuntime": {
      const nodeId = `node-${caller.fresh()}`;
      return { method: kind, registration: registration({ id: caller.owner(), nodeId }) };
    }
    case "removeRuntime":
      return { method: kind, id: caller.owner() };
    case "beat":
      return { method: kind, id: caller.oneIn(3) ? "missing" : caller.owner() };
    case "expireRuntime": {
      const staleMs = caller.of([null, 1_000, 60_000]);
      return { method: kind, request: { id: caller.owner(), staleMs } };
    }
    case "deleteInstance":
      return { method: kind, id: caller.id(), force: caller.oneIn(3) };
    case "pruneExecutions": {
      const keepLast = caller.of([{}, { keepLast: 2 }]);
      const before = caller.oneIn(2) ? { completedBefore: caller.store.now - 1_000 } : {};
      // An id without an instance is rare otherwise, and the refusal must be seen in every run.
      const id = caller.oneIn(8) ? "unknown" : caller.id();
      return { method: kind, request: { id, ...keepLast, ...before } };
    }
    case "advance":
      return { method: kind, ms: caller.of(caller.oneIn(8) ? LONG : SHORT) };
    case "reopen":
      return { method: kind };
  }
}

function instancesRequest(caller: Caller): LeaseInstancesRequest {
  const request = {
    ...{ owner: caller.owner(), token: caller.fresh(), limit: caller.of([100, 1, 2]) },
    targets: caller.of([ALL_TARGETS, ALL_TARGETS, TARGETS]),
    allowSuspect: caller.oneIn(2),
    messagesMax: caller.of([100, 2]),
    ...caller.leaseMs(),
    ...ageing(caller),
    ...heldBack(caller),
    ...(caller.oneIn(3) ? { busy: caller.of([1, 2]) } : {}),
  };
  const again = caller.oneIn(6) ? lastToken(caller) : null;
  const repeated = again === null ? request : { ...request, ...again, again: true };
  // The contract leaves the order of equal ranks open. With ties, the request therefore takes all instances.
  if (!hasTies(caller.store, repeated)) return repeated;
  return { ...repeated, limit: 100, allowSuspect: false };
}

/** The ageing time, usually not given. */
function ageing(caller: Caller): { readonly ageingMs?: number } {
  return caller.oneIn(4) ? { ageingMs: caller.of([1_000, 60_000]) } : {};
}

/** The pending instances to hold back, usually none. */
function heldBack(caller: Caller): Pick<LeaseInstancesRequest, "heldBack"> {
  if (!caller.oneIn(3)) return {};
  const priority = caller.of([3, 1, 5]);
  const targets = caller.of([ALL_TARGETS, ALL_TARGETS.slice(0, 1)]);
  return { heldBack: targets.map((target) => ({ target, priority })) };
}

/** The owner and token of an existing lease, for a repeated request. */
function lastToken(caller: Caller): { readonly owner: string; readonly token: number } | null {
  const { owner, token } = caller.hold();
  const instances = [...caller.store.instances.values()];
  const isFresh = instances.every(
    ({ lease, suspicion }) => lease?.token !== token || suspicion > 0,
  );
  return isFresh ? { owner, token } : null;
}

function tasksRequest(caller: Caller): LeaseTasksRequest {
  const request = {
    ...{ owner: caller.owner(), token: caller.fresh(), limit: caller.of([100, 1, 2]) },
    names: caller.of([["charge", "refund"], ["charge"]]),
    ...{ tags: "any" as const, sessions: null, allowSuspect: caller.next() % 3 < 2 },
    ...(caller.oneIn(2) ? { avoidMs: 4_000 } : {}),
    ...(caller.oneIn(4) ? { suspectsHeld: caller.of([1, 14, 16]) } : {}),
    ...caller.leaseMs(),
    ...ageing(caller),
  };
  if (!caller.oneIn(6)) return request;
  const { key, execution, sequence, token } = caller.claim();
  const tasks = caller.store.byKey(key)?.tasks ?? [];
  const task = tasks.find((each) => each.execution === execution && each.sequence === sequence);
  return { ...request, owner: task?.lease?.owner ?? request.owner, token, again: true };
}
