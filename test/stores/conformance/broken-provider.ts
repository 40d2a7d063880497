// Providers that each break one rule of the contract on purpose. Each wraps a correct provider.

import type {
  AppendItem,
  CommitItem,
  CommitResult,
  LeasedInstance,
  Message,
  NewsListener,
  Provider,
  TaskAddress,
  TurnItem,
} from "../../../src/core/provider/index.ts";
import type { OpenProvider } from "../../../src/testing/conformance/index.ts";

/** How a provider is broken: methods that replace those of the real provider. */
export type Breakage = (real: Provider) => Partial<Provider>;

/** Opens stores with broken providers, also when a store is reopened. */
export function openBroken(open: OpenProvider, breakage: Breakage): OpenProvider {
  return async (options) => {
    const { provider, reopen, ...rest } = await open(options);
    return {
      ...rest,
      provider: replaceMethods(provider, breakage(provider)),
      ...(reopen && {
        reopen: async () => {
          const other = await reopen();
          return replaceMethods(other, breakage(other));
        },
      }),
    };
  };
}

/** Changes every item of a commit before the commit is written. */
export function changingItems(change: (item: CommitItem, real: Provider) => CommitItem): Breakage {
  return (real) => ({
    commit: (items) => real.commit(items.map((item) => change(item, real))),
  });
}

export function changingTurns(change: (turn: TurnItem) => TurnItem): Breakage {
  return changingItems((item) => (item.kind === "turn" ? change(item) : item));
}

export function changingAppends(change: (append: AppendItem) => AppendItem): Breakage {
  return changingItems((item) => (item.kind === "append" ? change(item) : item));
}

/** Writes an append under the current token of its task, whatever token it names. */
export const ignoresTokensOfAppends: Breakage = (real) => {
  const current = new Map<string, number>();
  const address = ({ key, execution, sequence }: TaskAddress) => `${key}:${execution}:${sequence}`;
  return {
    commit(items) {
      return real.commit(
        items.map((item) => {
          if (item.kind === "turn") {
            const { key, execution } = item;
            for (const { sequence, lease } of item.tasks) {
              if (lease !== null) current.set(address({ key, execution, sequence }), lease.token);
            }
          }
          if (item.kind !== "append") return item;
          const token = current.get(address(item.task)) ?? item.task.token;
          return { ...item, task: { ...item.task, token } };
        }),
      );
    },
    async leaseTasks(request) {
      const leased = await real.leaseTasks(request);
      for (const task of leased.tasks) current.set(address(task), task.token);
      return leased;
    },
  };
};

/** Changes the messages of instances in every result that contains messages. */
export function changingMessages(
  change: (messages: readonly Message[]) => readonly Message[],
): Breakage {
  return (real) => ({
    async commit(items) {
      const results = await real.commit(items);
      return results.map((result) =>
        result.kind === "committed" ? { ...result, due: change(result.due) } : result,
      );
    },
    async leaseInstances(request) {
      const leased = await real.leaseInstances(request);
      const instances = leased.instances.map((instance) => ({
        ...instance,
        messages: change(instance.messages),
      }));
      return { ...leased, instances };
    },
    async takeMessages(keys, messagesMax) {
      const taken = await real.takeMessages(keys, messagesMax);
      return new Map([...taken].map(([key, messages]) => [key, change(messages)]));
    },
  });
}

/** Replaces the token of a turn by the newest token of the instance. */
export const ignoresTokens: Breakage = (real) => {
  const tokens = new Map<number, number>();
  return {
    async leaseInstances(request) {
      const leased = await real.leaseInstances(request);
      for (const { key, token } of leased.instances) tokens.set(key, token);
      return leased;
    },
    async commit(items) {
      const results = await real.commit(
        items.map((item) =>
          item.kind === "turn" ? { ...item, token: tokens.get(item.key) ?? item.token } : item,
        ),
      );
      for (const [i, result] of results.entries()) {
        const item = items[i];
        if (item?.kind !== "start" || result.kind !== "started" || item.lease === null) continue;
        tokens.set(result.key, item.lease.token);
      }
      return results;
    },
  };
};

/** Replaces the last event of a turn by the current last event. */
export const ignoresLastEvent: Breakage = (real) => ({
  async commit(items) {
    const rebased: CommitItem[] = [];
    for (const item of items) {
      if (item.kind !== "turn" || item.row !== null) {
        rebased.push(item);
        continue;
      }
      const rows = await real.readHistory({ key: item.key, execution: item.execution });
      rebased.push({ ...item, lastEvent: rows.at(-1)?.last ?? 0 });
    }
    return real.commit(rebased);
  },
});

/** Stops at the first refused item and refuses the rest of the group. */
export const dropsNeighboursOfRefused: Breakage = (real) => ({
  async commit(items) {
    const results: CommitResult[] = [];
    for (const item of items) {
      const refused = results.some((result) => result.kind === "refused");
      const [result] = refused ? [] : await real.commit([item]);
      results.push(result ?? { kind: "refused", code: "LEASE_LOST" });
    }
    return results;
  },
});

/** Sends the messages of a turn even if the turn is refused. */
export const leavesTracesOfRefusedTurns: Breakage = (real) => ({
  async commit(items) {
    const results = await real.commit(items);
    for (const [i, result] of results.entries()) {
      const item = items[i];
      if (item?.kind !== "turn" || result.kind !== "refused") continue;
      for (const { to, name = "", data } of item.sends) {
        const requestId = `leaked-${item.commitId}`;
        const ifMissing = "fail";
        await real.commit([{ kind: "send", id: to.id, name, data, requestId, ifMissing }]);
      }
    }
    return results;
  },
});

/** Removes every other runtime, so that their leases end. */
export const leasesWhatOthersHold: Breakage = (real) => ({
  async leaseInstances(request) {
    for (const { id, ...runtime } of await real.listRuntimes()) {
      if (id === request.owner) continue;
      await real.removeRuntime(id);
      await real.registerRuntime({ id, ...runtime });
    }
    return real.leaseInstances(request);
  },
});

/** Handles a repeated request as a new request. */
export const forgetsLostAnswers: Breakage = (real) => ({
  leaseInstances: (request) => real.leaseInstances({ ...request, again: false }),
  leaseTasks: (request) => real.leaseTasks({ ...request, again: false }),
});

export const losesSuspicion: Breakage = (real) => ({
  async leaseInstances(request) {
    const { instances, ...rest } = await real.leaseInstances({ ...request, allowSuspect: true });
    const withoutSuspicion = (leased: LeasedInstance): LeasedInstance => ({
      ...leased,
      suspicion: 0,
    });
    return { ...rest, instances: instances.map(withoutSuspicion) };
  },
});

export const losesSuspectFlag: Breakage = (real) => ({
  async leaseTasks(request) {
    const { tasks, ...rest } = await real.leaseTasks(request);
    return { ...rest, tasks: tasks.map((task) => ({ ...task, suspect: false, deaths: 0 })) };
  },
});

/** Stores details and progress of an attempt in the same field. */
export const mixesProgressWithDetails: Breakage = (real) => ({
  heartbeatTasks: (heartbeats) =>
    real.heartbeatTasks(
      heartbeats.map(({ task, details, progress }) => {
        const value = details ?? progress;
        return value === undefined ? { task } : { task, details: value, progress: value };
      }),
    ),
});

/** Leases the oldest tasks first and filters them by name afterwards. */
export const filtersNamesAfterLimit: Breakage = (real) => ({
  async leaseTasks(request) {
    const known = ["charge", "foreign", "unregistered", "x", "y", "z"];
    const { tasks, ...rest } = await real.leaseTasks({ ...request, names: known });
    const wanted = tasks.filter((task) => request.names.includes(task.name));
    for (const task of tasks) {
      if (!wanted.includes(task)) await real.commit([{ kind: "releaseTask", task }]);
    }
    return { ...rest, tasks: wanted };
  },
});

/** Notifies listeners before the commit is written. */
export const notifiesBeforeItWrites: Breakage = (real) => {
  const listeners = new Set<NewsListener>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async commit(items) {
      const due = items.flatMap((item) => ("id" in item ? [item.id] : []));
      for (const listener of listeners) {
        listener({ due, changed: [], tasks: true, elsewhere: false });
      }
      await new Promise((resolve) => setImmediate(resolve));
      return real.commit(items);
    },
  };
};

/** Refuses a turn of a paused instance with LEASE_LOST. */
export const takesPausesForLostLeases: Breakage = (real) => ({
  async commit(items) {
    const results = await real.commit(items);
    return results.map((result) =>
      result.kind === "refused" && result.code === "PAUSED"
        ? { kind: "refused", code: "LEASE_LOST" }
        : result,
    );
  },
});

/** Uses the number of listed instances as the cursor. */
export const pagesByOffset: Breakage = (real) => ({
  async listInstances({ cursor, limit, ...request }) {
    const seen = Number(cursor ?? 0);
    const all = await real.listInstances({ ...request, cursor: null, limit: 1_000 });
    const items = all.items.slice(seen, seen + limit);
    const end = seen + items.length;
    return { items, cursor: end < all.items.length ? `${end}` : null };
  },
});

/** Deletes the named instance but not its descendants. */
export const orphansDescendants: Breakage = (real) => ({
  async deleteInstance(request) {
    const children = await real.listChildren(request.id);
    const result = await real.deleteInstance(request);
    if (result.kind === "deleted") {
      for (const { id } of children) {
        await real.commit([orphan({ id, runId: `run-of-${id}`, name: "orphan" })]);
      }
    }
    return result;
  },
});

function orphan(instance: { id: string; runId: string; name: string }): CommitItem {
  return {
    ...instance,
    kind: "start",
    version: null,
    started: "{}",
    parent: null,
    onParentClose: "cancel",
    priority: 3,
    attributes: {},
    onConflict: "fail",
    requestId: null,
    terminated: "{}",
    events: [],
    lease: null,
  };
}

/** Peeks at tasks only. */
export const overlooksInstances: Breakage = (real) => ({
  async peek(request) {
    return { ...(await real.peek(request)), instances: false };
  },
});

/** Prunes all old executions, ignoring keepLast. */
export const prunesRegardlessOfNumber: Breakage = (real) => ({
  pruneExecutions: ({ id }) => real.pruneExecutions({ id }),
});

/** Reports every item as not written. */
export const settlesNothing: Breakage = () => ({ settle: () => Promise.resolve(null) });

/** Refuses a turn as soon as its lease has expired. */
export const letsExpiryDecide: Breakage = (real) => {
  const until = new Map<number, number>();
  return {
    async commit(items) {
      const now = real.now();
      const results: CommitResult[] = [];
      for (const item of items) {
        const isLate = item.kind === "turn" && (until.get(item.token) ?? Infinity) < now;
        const [result] = isLate ? [] : await real.commit([item]);
        results.push(result ?? { kind: "refused", code: "LEASE_LOST" });
        if (item.kind === "start" && item.lease?.leaseMs !== undefined) {
          until.set(item.lease.token, now + item.lease.leaseMs);
        }
      }
      return results;
    },
  };
};

export function replaceMethods(real: Provider, replaced: Partial<Provider>): Provider {
  return new Proxy(real, {
    get(target, name) {
      const own = Reflect.get(replaced, name) as unknown;
      if (own !== undefined) return own;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
