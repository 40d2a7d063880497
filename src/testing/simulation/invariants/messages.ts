// Invariants 7 and 9: no event is lost or duplicated, and the events of one name keep their order.
//   7. An accepted event is once in the inbox or in the history of its instance. `continueAsNew` returns
//   unread events to the inbox, and a rewind those that were read after its cut. 9. Within one execution the messages of one name are received in the order
//   in which they were accepted.

import { decodeRow } from "../../../core/history/rows.ts";
import type {
  CommitItem,
  CommitResult,
  SendItem,
  TurnItem,
} from "../../../core/provider/commit.ts";
import type { RewindTarget } from "../../../core/provider/control.ts";
import { isReplacement, writtenDispatches, type Carried } from "../calls.ts";
import { refill } from "./refill.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

interface Sent {
  readonly name: string;
  /** The position in the order of acceptance. */
  readonly order: number;
}

export class SentEvents {
  /** The accepted events, by instance id and request id. */
  readonly #sent = new Map<string, Map<string, Sent>>();
  /** Request ids of events in the history that the end of an execution did not return to the inbox. */
  readonly #taken = new Map<string, Set<string>>();
  /** `#taken` when the newest execution began: what a rewind cannot return. */
  readonly #base = new Map<string, ReadonlySet<string>>();
  /** The newest execution that a start created, by instance id. */
  readonly #lives = new Map<string, number>();
  #accepted = 0;

  see(call: Carried, idOf: (key: number) => string | undefined): void {
    if (call.method !== "commit") return;
    for (const [i, item] of call.args[0].entries()) this.#item(item, call.result[i], idOf);
  }

  checkpoint(): () => void {
    const sent = [...this.#sent].map(([id, its]) => [id, new Map(its)] as const);
    const taken = [...this.#taken].map(([id, its]) => [id, new Set(its)] as const);
    const lives = [...this.#lives];
    const base = [...this.#base];
    return () => {
      refill(this.#base, base);
      refill(this.#sent, sent);
      refill(this.#taken, taken);
      refill(this.#lives, lives);
    };
  }

  #item(
    item: CommitItem,
    result: CommitResult | undefined,
    idOf: (key: number) => string | undefined,
  ): void {
    if (item.kind === "send" && result?.kind === "done") this.#accept(item);
    else if (item.kind === "start" && result?.kind === "started") {
      if ((this.#lives.get(item.id) ?? 1) >= result.execution) return;
      this.#lives.set(item.id, result.execution);
      this.#forget(item.id);
    } else if (item.kind === "rewind" && result?.kind === "rewound") {
      for (const target of item.targets) this.#rewind(target);
    } else if (item.kind === "turn" && result?.kind === "committed") {
      this.#turn(item, idOf(item.key) ?? "");
      for (const each of writtenDispatches(item, result)) {
        if (each.kind === "send") this.#accept(each);
        else if (isReplacement(each)) this.#forget(each.id);
      }
    }
  }

  #accept({ id, requestId, name }: SendItem): void {
    const sent = this.#sent.get(id) ?? new Map<string, Sent>();
    this.#sent.set(id, sent);
    if (!sent.has(requestId)) sent.set(requestId, { name, order: this.#accepted++ });
  }

  /** A restarted instance has an empty inbox (I11). */
  #forget(id: string): void {
    this.#sent.delete(id);
    this.#taken.delete(id);
    this.#base.delete(id);
  }

  /** Everything that the copied past does not contain must be in the inbox again, whatever the item says. */
  #rewind({ id, rows }: RewindTarget): void {
    const taken = new Set(this.#base.get(id));
    for (const row of rows) {
      for (const event of decodeRow(row)) {
        if (event.kind === "EventReceived" && event.key !== undefined) taken.add(event.key);
      }
    }
    this.#taken.set(id, taken);
  }

  #turn({ row, change }: TurnItem, id: string): void {
    const taken = this.#taken.get(id) ?? new Set<string>();
    this.#taken.set(id, taken);
    if (row?.data.includes('"EventReceived"') === true) {
      for (const event of decodeRow(row)) {
        if (event.kind === "EventReceived" && event.key !== undefined) taken.add(event.key);
      }
    }
    if (change.kind !== "continued") return;
    for (const { key } of change.unread) if (key !== null) taken.delete(key);
    this.#base.set(id, new Set(taken));
  }

  /** Checks one instance. Must be called for every instance that a call changed. */
  check({ record, events, inbox }: InstanceSnapshot): string[] {
    const sent = this.#sent.get(record.id);
    if (sent === undefined) return [];
    const taken = this.#taken.get(record.id);
    const found: string[] = [];
    const here = new Set<string>();
    const last = new Map<string, number>();
    for (const event of events) {
      if (event.kind !== "EventReceived" || event.key === undefined) continue;
      if (here.has(event.key)) found.push(`7: ${event.name} ${event.key} was received twice`);
      here.add(event.key);
      const order = sent.get(event.key)?.order ?? -1;
      if (order < (last.get(event.name) ?? -1)) {
        found.push(`9: ${event.name} ${event.key} was received after an event that was sent later`);
      }
      last.set(event.name, order);
    }
    for (const { kind, key } of inbox) {
      if (kind !== "event" || key === null) continue;
      if (here.has(key)) found.push(`7: event ${key} is in the history and in the inbox`);
      here.add(key);
    }
    for (const [key, { name }] of sent) {
      if (!here.has(key) && taken?.has(key) !== true)
        found.push(
          `7: ${name} ${key} was accepted, but is neither in the history nor in the inbox`,
        );
    }
    return found;
  }
}
