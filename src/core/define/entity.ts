// What the context and the client need of an entity (perdure/entity): it connects a caller to one key.

import type { ActivityClient } from "../context/activity-context.ts";
import type { OrchestrationContext } from "../context/types.ts";
import { invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";

/** An entity, created by `entity(…)` of `perdure/entity`. The parameters are the calls that its callers can make. */
export interface EntityDef<ClientCalls, ContextCalls> {
  readonly name: string;
  readonly fromClient: (client: ActivityClient, key: string) => ClientCalls;
  readonly fromContext: (ctx: OrchestrationContext, key: string) => ContextCalls;
}

/** Throws unless the argument is an entity. */
export function checkEntity(entity: unknown, what: string): void {
  if (typeof entity === "object" && entity !== null && "fromContext" in entity) return;
  const got = showValue(entity);
  throw invalidArgument(`${what} must be given an entity, created by entity(name, …); got ${got}.`);
}
