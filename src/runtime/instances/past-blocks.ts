// Past blocks: logs one line when an instance continues after a block.
//   - A block is known from the lease, or because this runtime wrote it. Unblocking leaves no trace in
//     the instance.
//   - past-blocks.1: If the instance has made progress since its block, it continued elsewhere. No second
//     line is logged.

import type { BlockCode, BlockReason } from "../../core/history/block.ts";
import { instanceFields } from "../../core/telemetry/log-fields.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { LeasedInstance } from "../../core/provider/instances.ts";
import { loggedInstance, type HeldInstance } from "./held-instance.ts";

const REMEMBERED_MAX = 1_000;

interface PastBlock {
  readonly code: BlockCode;
  readonly execution: number;
  readonly lastEvent: number;
}

export class PastBlocks {
  readonly #log: LogSink;
  /** By the key of the instance, oldest first. */
  readonly #blocks = new Map<number, PastBlock>();

  constructor(log: LogSink) {
    this.#log = log;
  }

  blocked({ key, execution, lastEvent }: HeldInstance, { code }: BlockReason): void {
    this.#remember(key, { code, execution, lastEvent });
  }

  leased({ key, execution, lastEvent, blocked }: LeasedInstance): void {
    if (blocked !== null) {
      const { code } = JSON.parse(blocked) as BlockReason; // written by blocker.ts
      return this.#remember(key, { code, execution, lastEvent });
    }
    const past = this.#blocks.get(key);
    if (past === undefined) return;
    if (past.execution !== execution || past.lastEvent !== lastEvent) this.#blocks.delete(key); // past-blocks.1
  }

  /** A turn of the instance was committed. `clears`: it ends a quarantine (provider.instances.5). */
  committed(held: HeldInstance, clears: boolean): void {
    const past = this.#blocks.get(held.key);
    if (past === undefined || (past.code === "QUARANTINE" && !clears)) return;
    this.#blocks.delete(held.key);
    const logged = loggedInstance(held);
    const message = `${logged.name}, ${logged.id}: continues after having been blocked (${past.code})`;
    this.#log("info", message, { ...instanceFields(logged), code: past.code });
  }

  #remember(key: number, block: PastBlock): void {
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    if (this.#blocks.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined) this.#blocks.delete(oldest);
  }
}
