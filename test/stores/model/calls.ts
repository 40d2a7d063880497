// Calls of a store as data, with the answer of the model and the answer of a provider.

import type {
  CommitItem,
  CommitResult,
  ExpireRequest,
  LeasedTasks,
  LeaseInstancesRequest,
  LeaseTasksRequest,
  Provider,
  PruneRequest,
  RuntimeRegistration,
  TaskClaim,
  TaskHeartbeat,
} from "../../../src/core/provider/index.ts";
import { deleteInstance, pruneExecutions, settle } from "./model-admin.ts";
import { findTask, holder } from "./model-claims.ts";
import { commit } from "./model-commits.ts";
import {
  beat,
  expireRuntime,
  leaseInstances,
  leaseTasks,
  registerRuntime,
  removeRuntime,
} from "./model-leases.ts";
import { dueOf, toRecord, type ModelStore } from "./model-store.ts";

export interface Hold {
  readonly key: number;
  readonly token: number;
}
export type Call =
  | { readonly method: "commit"; readonly items: readonly CommitItem[] }
  | { readonly method: "settle"; readonly item: CommitItem }
  | { readonly method: "leaseInstances"; readonly request: LeaseInstancesRequest }
  | { readonly method: "takeMessages"; readonly from: Pick<Hold, "key">; readonly max: number }
  | { readonly method: "renewInstances"; readonly holds: readonly Hold[]; readonly leaseMs: number }
  | {
      readonly method: "leaseTasks";
      readonly request: LeaseTasksRequest;
      /** Whether the owner is registered. The contract defines `nextAt` only for registered owners. */
      readonly isKnown: boolean;
    }
  | {
      readonly method: "renewTasks";
      readonly claims: readonly TaskClaim[];
      readonly leaseMs: number;
    }
  | { readonly method: "heartbeatTasks"; readonly heartbeats: readonly TaskHeartbeat[] }
  | { readonly method: "lostTasks"; readonly claims: readonly TaskClaim[] }
  | { readonly method: "registerRuntime"; readonly registration: RuntimeRegistration }
  | { readonly method: "removeRuntime" | "beat"; readonly id: string }
  | { readonly method: "expireRuntime"; readonly request: ExpireRequest }
  | { readonly method: "deleteInstance"; readonly id: string; readonly force: boolean }
  | { readonly method: "pruneExecutions"; readonly request: PruneRequest }
  | { readonly method: "readInstance"; readonly id: string }
  | { readonly method: "listInstances"; readonly name: string }
  | {
      readonly method: "readHistory";
      readonly of: { readonly key: number; readonly execution: number };
    }
  | { readonly method: "advance"; readonly ms: number }
  | { readonly method: "reopen" };

export function answerOfModel(store: ModelStore, call: Call): unknown {
  switch (call.method) {
    case "commit":
      return ofGroup(call.items.map((item) => commit(store, item)));
    case "settle":
      return settle(store, call.item);
    case "leaseInstances":
      return byId(leaseInstances(store, call.request));
    case "takeMessages": {
      const found = store.byKey(call.from.key);
      return found === undefined ? [] : dueOf(found, store.now, call.max);
    }
    case "renewInstances":
      return call.holds.flatMap(({ key, token }) => {
        const lease = holder(store, { key, token })?.lease;
        if (typeof lease?.until === "number") lease.until = store.now + call.leaseMs;
        return lease === undefined || lease === null ? [{ key }] : [];
      });
    case "leaseTasks":
      return toKnown(leaseTasks(store, call.request), call.isKnown);
    case "renewTasks":
      for (const claim of call.claims) {
        const lease = findTask(store, claim)?.lease;
        if (typeof lease?.until === "number") lease.until = store.now + call.leaseMs;
      }
      return lost(store, call.claims);
    case "heartbeatTasks":
      for (const { task: claim, details, progress } of call.heartbeats) {
        const task = findTask(store, claim);
        if (task === null) continue;
        task.heartbeat = details ?? task.heartbeat;
        task.progress = progress ?? task.progress;
      }
      return lost(
        store,
        call.heartbeats.map(({ task }) => task),
      );
    case "lostTasks":
      return lost(store, call.claims);
    case "registerRuntime":
      return registerRuntime(store, call.registration);
    case "removeRuntime":
      return removeRuntime(store, call.id);
    case "beat":
      return beat(store, call.id);
    case "expireRuntime":
      return expireRuntime(store, call.request);
    case "deleteInstance":
      return withoutProse(deleteInstance(store, call));
    case "pruneExecutions":
      return pruneExecutions(store, call.request);
    case "readInstance": {
      const found = store.instances.get(call.id);
      return found === undefined ? null : toRecord(found);
    }
    case "listInstances": {
      const all = [...store.instances.values()].map((one) => {
        const { output: _, ...listed } = toRecord(one);
        return listed;
      });
      return inOrderOfIds(all.filter(({ name }) => name === call.name));
    }
    case "readHistory":
      return store.byKey(call.of.key)?.history.get(call.of.execution) ?? [];
    case "advance":
    case "reopen":
      return null;
  }
}

export async function answerOfStore(provider: Provider, call: Call): Promise<unknown> {
  switch (call.method) {
    case "commit":
      return ofGroup(await provider.commit(call.items));
    case "settle":
      return provider.settle(call.item);
    case "leaseInstances":
      return byId(await provider.leaseInstances(call.request));
    case "takeMessages": {
      const taken = await provider.takeMessages([call.from.key], call.max);
      return taken.get(call.from.key) ?? [];
    }
    case "renewInstances": {
      const keys = await provider.renewInstances(call.holds, call.leaseMs);
      return keys.map((key) => ({ key }));
    }
    case "leaseTasks":
      return toKnown(await provider.leaseTasks(call.request), call.isKnown);
    case "renewTasks":
      return provider.renewTasks(call.claims, call.leaseMs);
    case "heartbeatTasks":
      return provider.heartbeatTasks(call.heartbeats);
    case "lostTasks":
      return provider.lostTasks(call.claims);
    case "registerRuntime":
      return provider.registerRuntime(call.registration);
    case "removeRuntime":
      return provider.removeRuntime(call.id);
    case "beat":
      return provider.beat(call.id);
    case "expireRuntime":
      return provider.expireRuntime(call.request);
    case "deleteInstance":
      return withoutProse(await provider.deleteInstance(call));
    case "pruneExecutions":
      return provider.pruneExecutions(call.request);
    case "readInstance":
      return provider.readInstance(call.id);
    case "listInstances": {
      const filter = { name: call.name };
      const request = { filter, order: "oldest", limit: 1_000, cursor: null } as const;
      return inOrderOfIds((await provider.listInstances(request)).items);
    }
    case "readHistory":
      return provider.readHistory(call.of);
    case "advance":
    case "reopen":
      return null;
  }
}

/** The due messages after a turn in a group depend on the order of reading, so they are not compared. */
function ofGroup(results: readonly CommitResult[]): readonly CommitResult[] {
  if (results.length === 1) return results;
  return results.map((each) => (each.kind === "committed" ? { ...each, due: [] } : each));
}

function lost(store: ModelStore, claims: readonly TaskClaim[]): readonly TaskClaim[] {
  return claims.filter((claim) => findTask(store, claim) === null);
}

/** The contract defines which instances are leased, but not their order. */
function byId<Leased extends { readonly instances: readonly { readonly id: string }[] }>(
  leased: Leased,
): Leased {
  return { ...leased, instances: inOrderOfIds(leased.instances) };
}

function inOrderOfIds<Named extends { readonly id: string }>(all: readonly Named[]): Named[] {
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function toKnown(leased: LeasedTasks, isKnown: boolean): LeasedTasks {
  return isKnown ? leased : { ...leased, nextAt: null };
}

function withoutProse(result: object): object {
  return "message" in result ? { ...result, message: "" } : result;
}
