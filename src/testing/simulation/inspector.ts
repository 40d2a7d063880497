// Inspector: reads the store after every call that changed it and reports violated invariants.
//   - The inspector reads the store directly, between two calls, so it sees exactly the stored data.
//   - It reads an instance when a call names the instance, its parent, its child or its lease.

import { isTerminalStatus } from "../../core/provider/instances.ts";
import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import {
  isRead,
  replacedInstances,
  rewoundInstances,
  withFirstTurns,
  withoutRepeatedRewinds,
  type Carried,
} from "./calls.ts";
import {
  appendOnly,
  denseNumbers,
  matchedCompletions,
  noLateResult,
  oneEnd,
  stableText,
} from "./invariants/history.ts";
import { QueueLimits } from "./invariants/queue-limits.ts";
import { missingOutcomes } from "./invariants/dispatches.ts";
import { Callbacks } from "./invariants/callbacks.ts";
import { Cancels } from "./invariants/cancels.ts";
import { LeaseModel } from "./invariants/lease-model.ts";
import { SentEvents } from "./invariants/messages.ts";
import { refill } from "./invariants/refill.ts";
import { returnedEvents } from "./invariants/returned.ts";
import { liveReasons } from "./invariants/reasons.ts";
import { Snapshots, type InstanceSnapshot } from "./invariants/snapshot.ts";
import { statusFollows } from "./invariants/status.ts";
import { DueTimes } from "./invariants/timers.ts";
import { EnqueueKeys } from "./invariants/enqueue-keys.ts";
import { Expiry } from "./invariants/expiry.ts";
import type { SimulatedStore } from "./world/simulated-store.ts";
import type { InvariantNumber, OtherFault } from "./violation.ts";

type Look = (now: InstanceSnapshot, before: InstanceSnapshot | null) => string[];
const LOOKS: readonly (readonly [InvariantNumber, Look])[] = [
  ["C1", denseNumbers],
  ["C2", matchedCompletions],
  ["C3", oneEnd],
  ["C4", appendOnly],
  ["C12", stableText],
  ["C13", statusFollows],
  ["C15", noLateResult],
  ["C34", returnedEvents],
];

export class Inspector {
  readonly leases = new LeaseModel();
  readonly snapshots: Snapshots;
  readonly #store: SimulatedStore;
  readonly #sent = new SentEvents();
  readonly #cancels = new Cancels();
  readonly #callbacks = new Callbacks();
  readonly #dueTimes = new DueTimes();
  readonly #queueLimits = new QueueLimits();
  readonly #enqueueKeys = new EnqueueKeys();
  readonly #expiry = new Expiry();
  readonly #report: (invariant: InvariantNumber | OtherFault, what: string) => void;
  /** The number of events that turns have committed. */
  events = 0;
  /** The number of pauses per instance. */
  readonly pauses = new Map<string, number>();
  /** When each instance was rewound last, by the store's clock. */
  readonly rewoundAt = new Map<string, number>();

  constructor(
    store: SimulatedStore,
    report: (invariant: InvariantNumber | OtherFault, what: string) => void,
  ) {
    this.#store = store;
    this.#report = report;
    this.snapshots = new Snapshots(store.provider);
    store.watchers.push((call) => this.#see(call));
  }

  async #see(carried: Carried): Promise<void> {
    const executionOf = (id: string) => this.snapshots.last(id)?.record.execution;
    const call = withoutRepeatedRewinds(withFirstTurns(carried), executionOf);
    const touched = this.#touched(call);
    const keyOf = (id: string): number | undefined => this.snapshots.last(id)?.record.key;
    for (const what of this.leases.see(call, keyOf)) {
      const [number = "", ...rest] = what.split(": "); // `see` begins with the number
      this.#report(`C${number}` as InvariantNumber, rest.join(": "));
    }
    for (const id of replacedInstances(call)) {
      const replaced = this.snapshots.last(id)?.record.key;
      if (replaced !== undefined) this.leases.forget(replaced);
    }
    for (const id of rewoundInstances(call)) {
      this.rewoundAt.set(id, call.now);
      const rewound = this.snapshots.last(id)?.record.key;
      if (rewound !== undefined) this.leases.forget(rewound);
    }
    if (call.method === "deleteInstance") this.snapshots.forget(call.args[0].id);
    for (const id of this.#expiry.see(call, this.snapshots)) {
      if ((await this.#store.provider.readInstance(id)) === null) this.snapshots.forget(id);
    }
    for (const what of this.#dueTimes.see(call)) this.#report("C10", what);
    const idOf = (key: number): string | undefined => this.snapshots.idOf(key);
    this.#sent.see(call, idOf);
    for (const what of this.#cancels.see(call, idOf)) this.#report("C21", what);
    for (const [invariant, what] of this.#callbacks.see(call)) this.#report(invariant, what);
    if (isRead(call.method)) return;
    if (call.method === "commit") this.#seePaused(call.args[0], call.result);
    for (const id of touched) await this.look(id);
    for (const what of this.#queueLimits.see(call, this.leases, this.snapshots)) {
      this.#report("C28", what);
    }
    for (const what of this.#enqueueKeys.see(call)) this.#report("C31", what);
    for (const what of await this.#enqueueKeys.check(touched, this.#store.provider)) {
      this.#report("C27", what);
    }
    const last = (key: number): InstanceSnapshot | null => this.snapshots.last(idOf(key) ?? "");
    for (const what of await missingOutcomes(call, last, this.#store.provider)) {
      this.#report("C8", what);
    }
  }

  /** Checks that no turn is committed while its instance is paused (semantics 20). */
  #seePaused(items: readonly CommitItem[], results: readonly CommitResult[]): void {
    const lifted = new Set<string>();
    for (const [i, item] of items.entries()) {
      if (item.kind !== "turn") {
        if ("id" in item) lifted.add(item.id); // an earlier item of the same commit may have ended the pause
        continue;
      }
      const id = this.snapshots.idOf(item.key);
      if (id === undefined || lifted.has(id) || results[i]?.kind !== "committed") continue;
      const paused = this.snapshots.last(id)?.record.paused ?? null;
      if (paused !== null) this.#report("paused", `a turn of ${id} was committed`);
    }
  }

  /**
   * Saves the inspector's knowledge. The returned function restores it when the store goes back to this
   * moment.
   */
  checkpoint(): () => void {
    const models = [this.leases, this.#sent, this.#cancels, this.#callbacks, this.#expiry];
    const parts = [...models, this.snapshots];
    const restores = parts.map((part) => part.checkpoint());
    const pauses = [...this.pauses];
    return () => {
      for (const restore of restores) restore();
      refill(this.pauses, pauses);
    };
  }

  /** Reads and checks one instance. */
  async look(id: string): Promise<void> {
    this.leases.follow(this.#store.now());
    const before = this.snapshots.last(id);
    const now = await this.snapshots.take(id);
    if (now === null) {
      if (before !== null) this.#report("C4", `${id} no longer exists`);
      return;
    }
    for (const [number, look] of LOOKS) {
      for (const what of look(now, before)) this.#report(number, `${id}: ${what}`);
    }
    for (const what of this.#sent.check(now)) {
      this.#report(what.startsWith("7") ? "C7" : "C9", `${id}: ${what.slice(3)}`);
    }
    for (const [invariant, what] of this.#callbacks.check(now)) {
      this.#report(invariant, `${id}: ${what}`);
    }
    for (const what of await liveReasons(now, this.#store.provider)) {
      this.#report("C8", `${id}: ${what}`);
    }
    if (isTerminalStatus(now.record.status)) this.leases.forget(now.record.key);
  }

  #touched(call: Carried): ReadonlySet<string> {
    const ids = new Set<string>();
    if (call.method === "commit") {
      for (const [i, item] of call.args[0].entries()) this.#touchedBy(item, call.result[i], ids);
    } else if (call.method === "leaseInstances") {
      for (const { key, id } of call.result.instances) this.snapshots.know(key, id);
    } else if (call.method === "expireRuntime" || call.method === "removeRuntime") {
      const owner = call.method === "removeRuntime" ? call.args[0] : call.args[0].id;
      for (const [key, lease] of this.leases.instanceLeases) {
        if (lease.owner === owner) this.#add(key, ids);
      }
    }
    return ids;
  }

  #touchedBy(item: CommitItem, result: CommitResult | undefined, ids: Set<string>): void {
    switch (item.kind) {
      case "turn":
        this.#add(item.key, ids);
        for (const { id } of item.starts) ids.add(id);
        for (const { to } of item.sends) ids.add(to.id);
        for (const { item: each } of item.dispatched ?? []) ids.add(each.id);
        if (result?.kind === "committed" && item.row !== null) {
          this.events += item.row.last - item.row.first + 1;
        }
        return;
      case "start":
        if (result?.kind === "started") this.snapshots.know(result.key, item.id);
        ids.add(item.id);
        return;
      case "completion":
      case "retry":
      case "releaseTask":
      case "append":
      case "defer":
        return this.#add(item.task.key, ids);
      case "block":
      case "releaseInstance":
      case "stepOutcome":
        return this.#add(item.key, ids);
      case "fork":
        ids.add(item.instance.id);
        return;
      case "rewind":
        for (const { id } of item.targets) ids.add(id);
        return;
      case "enqueue":
        if (result !== undefined && "id" in result) ids.add(result.id);
        return;
      case "enqueueMany":
        if (result?.kind === "enqueued") for (const id of result.ids) ids.add(id);
        return;
      case "pause":
        this.pauses.set(item.id, (this.pauses.get(item.id) ?? 0) + 1);
        ids.add(item.id);
        return;
      default:
        ids.add(item.id);
    }
  }

  #add(key: number, ids: Set<string>): void {
    const id = this.snapshots.idOf(key);
    if (id !== undefined) ids.add(id);
  }
}
