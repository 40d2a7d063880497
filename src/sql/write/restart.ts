// Restart: begins the next execution of an ended instance, as if it were new.

import type { NewInstance } from "../../core/provider/commit.ts";
import type { Message } from "../../core/provider/messages.ts";
import type { StoreParts } from "../parts.ts";
import type { InstanceHead } from "../rows/instance-rows.ts";
import type { Scope } from "../script/scope.ts";
import type { Script } from "../script/script.ts";
import { finishAsks } from "./asks.ts";
import type { Lease } from "./instance-columns.ts";
import { reopenStreams } from "./streams.ts";

/** The lease that the new execution gets, and when its start becomes visible. */
export interface Beginning {
  readonly lease: Lease | null;
  readonly visibleAt: number;
}

/** Returns the start message of the new execution. */
export function* restart<S extends Scope>(
  instance: NewInstance,
  { key, execution }: InstanceHead,
  beginning: Beginning,
  scope: S,
  parts: StoreParts<S>,
): Script<Message & { readonly execution: number }> {
  yield* finishAsks(key, scope);
  yield* reopenStreams(key);
  const next = execution + 1;
  const message = yield* parts.revive({ instance, key, execution: next }, beginning, scope);
  scope.changes.changed(instance.id);
  return { ...message, execution: next };
}
