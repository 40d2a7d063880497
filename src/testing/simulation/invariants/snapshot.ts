// Snapshot: all stored data of one instance, read between two calls.
//   - Each row is decoded once. A row that was read before is compared by its text.

import type { HistoryEvent } from "../../../core/history/events.ts";
import { decodeRow, type HistoryRow } from "../../../core/history/rows.ts";
import type { InstanceRecord } from "../../../core/provider/instances.ts";
import type { Message } from "../../../core/provider/messages.ts";
import type { Provider } from "../../../core/provider/provider.ts";
import type { KeyValueRecord } from "../../../core/provider/state.ts";
import type { TaskRecord } from "../../../core/provider/tasks.ts";
import { refill } from "./refill.ts";

export interface InstanceSnapshot {
  readonly record: InstanceRecord;
  /** The history rows of the newest execution. */
  readonly rows: readonly HistoryRow[];
  readonly events: readonly HistoryEvent[];
  readonly inbox: readonly Message[];
  readonly tasks: readonly TaskRecord[];
  readonly keyValues: readonly KeyValueRecord[];
}

export class Snapshots {
  readonly #provider: Provider;
  readonly #last = new Map<string, InstanceSnapshot>();
  readonly #ids = new Map<number, string>();

  constructor(provider: Provider) {
    this.#provider = provider;
  }

  /** Ids of all instances that were read so far. */
  get ids(): readonly string[] {
    return [...this.#last.keys()];
  }
  last(id: string): InstanceSnapshot | null {
    return this.#last.get(id) ?? null;
  }
  idOf(key: number): string | undefined {
    return this.#ids.get(key);
  }
  know(key: number, id: string): void {
    this.#ids.set(key, id);
  }

  /** The instance was deleted. */
  forget(id: string): void {
    this.#last.delete(id);
  }

  checkpoint(): () => void {
    const last = [...this.#last];
    const ids = [...this.#ids];
    return () => {
      refill(this.#last, last);
      refill(this.#ids, ids);
    };
  }

  /** Reads one instance. Returns null if it does not exist. */
  async take(id: string): Promise<InstanceSnapshot | null> {
    const record = await this.#provider.readInstance(id);
    if (record === null) return null;
    const { key, execution } = record;
    const address = { key, execution };
    const rows = await this.#provider.readHistory(address);
    const snapshot: InstanceSnapshot = {
      record,
      rows,
      events: this.#events(id, address, rows),
      inbox: await this.#provider.readInbox(key),
      tasks: await this.#provider.readTasks(address),
      keyValues: await this.#provider.readKeyValues(id),
    };
    this.#last.set(id, snapshot);
    this.#ids.set(key, id);
    return snapshot;
  }

  #events(
    id: string,
    { key, execution }: { key: number; execution: number },
    rows: readonly HistoryRow[],
  ): readonly HistoryEvent[] {
    const before = this.#last.get(id);
    const isSame = before?.record.key === key && before.record.execution === execution;
    const known = isSame ? before : null;
    const events: HistoryEvent[] = [];
    for (const [index, row] of rows.entries()) {
      const old = known?.rows[index];
      if (known !== null && old !== undefined && old.data === row.data && old.first === row.first) {
        for (let at = events.length; at < old.last; at++) {
          const event = known.events[at];
          if (event !== undefined) events.push(event);
        }
      } else events.push(...decodeRow(row));
    }
    return events;
  }
}
