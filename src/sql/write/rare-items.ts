// Rare items: the commit items that both stores write with the same scripts. Each store writes the frequent
// kinds itself.

import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import type { StoreParts } from "../parts.ts";
import type { Scope } from "../script/scope.ts";
import type { Script } from "../script/script.ts";
import { withdraw } from "./asks.ts";
import { block, unblock } from "./blocks.ts";
import { enqueueMany, type BulkWriter } from "./bulk-starts.ts";
import { deliverCallback } from "./callbacks.ts";
import { callTask, defer } from "./deferred-tasks.ts";
import { fork } from "./fork.ts";
import { enqueue, WRITTEN_KEYS } from "./keyed-starts.ts";
import { pause, resume } from "./pause.ts";
import { rewind } from "./rewind.ts";
import { trim } from "./streams.ts";
import type { Terminations } from "./termination.ts";

export type RareItem = Extract<
  CommitItem,
  {
    readonly kind:
      | "enqueue"
      | "enqueueMany"
      | "cancel"
      | "terminate"
      | "block"
      | "unblock"
      | "pause"
      | "resume"
      | "fork"
      | "rewind"
      | "withdraw"
      | "trim"
      | "callback"
      | "callTask"
      | "defer";
  }
>;

export interface RareWriters<S extends Scope> {
  readonly terminations: Terminations<S>;
  readonly parts: StoreParts<S>;
  readonly bulkStarts: BulkWriter<S>;
}

export function writeRare<S extends Scope>(
  item: RareItem,
  scope: S,
  { terminations, parts, bulkStarts }: RareWriters<S>,
): Script<CommitResult> {
  switch (item.kind) {
    case "enqueue":
      return enqueue(item, scope, { terminations, parts, bulkStarts });
    case "enqueueMany":
      return enqueueMany(item, scope, bulkStarts, {
        ...WRITTEN_KEYS,
        write: (start) => enqueue(start, scope, { terminations, parts, bulkStarts }),
      });
    case "cancel":
      return terminations.cancel(item, scope);
    case "terminate":
      return terminations.terminate(item, scope);
    case "block":
      return block(item, scope, parts);
    case "unblock":
      return unblock(item, scope, parts);
    case "pause":
      return pause(item, scope);
    case "resume":
      return resume(item, scope);
    case "withdraw":
      return withdraw(item);
    case "callback":
      return deliverCallback(item, scope, parts);
    case "callTask":
      return callTask(item, scope, parts);
    case "defer":
      return defer(item, scope);
    case "fork":
      return fork(item, scope, parts);
    case "rewind":
      return rewind(item, scope, { terminations, parts });
    case "trim":
      return trim(item);
  }
}
