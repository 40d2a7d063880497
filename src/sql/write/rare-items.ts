// Rare items: the commit items that both stores write with the same scripts. Each store writes the frequent
// kinds itself.

import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import type { StoreParts } from "../parts.ts";
import type { Scope } from "../script/scope.ts";
import type { Script } from "../script/script.ts";
import { withdraw } from "./asks.ts";
import { block, unblock } from "./blocks.ts";
import { deliverCallback } from "./callbacks.ts";
import { callTask, defer } from "./deferred-tasks.ts";
import { fork } from "./fork.ts";
import { pause, resume } from "./pause.ts";
import { trim } from "./streams.ts";
import type { Terminations } from "./termination.ts";

export type RareItem = Extract<
  CommitItem,
  {
    readonly kind:
      | "cancel"
      | "terminate"
      | "block"
      | "unblock"
      | "pause"
      | "resume"
      | "fork"
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
}

export function writeRare<S extends Scope>(
  item: RareItem,
  scope: S,
  { terminations, parts }: RareWriters<S>,
): Script<CommitResult> {
  switch (item.kind) {
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
    case "trim":
      return trim(item);
  }
}
