// Call chains: which entities wait for the answer to a call (entity.3).
//   - An entity handles one call at a time. If the handler of entity A calls B, and B calls A, A can never answer:
//        it waits for B. Every call carries the ids of the entities that wait for it.

import { ask } from "../core/context/message-calls.ts";
import { runOf } from "../core/context/orchestration-context.ts";
import type { ContextAskOptions, OrchestrationContext, Task } from "../core/context/types.ts";
import { invalidArgument } from "../core/checks.ts";
import type { AnyRequest } from "../core/define/request.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { Run } from "../core/replay/run.ts";

/** Entities in one chain. A longer chain is a mistake, and would fill the histories. */
const CHAIN_MAX = 100;

/** The chain of the call that each entity handles now. */
const chains = new WeakMap<Run, readonly string[]>();

/** Runs a handler that was called with this chain. */
export async function inChain<T>(
  run: Run,
  calledBy: readonly string[],
  handle: () => Promise<T>,
): Promise<T> {
  chains.set(run, [...calledBy, run.instanceId]);
  try {
    return await handle();
  } finally {
    chains.delete(run);
  }
}

/** Calls an entity. Throws if the entity waits for this call. */
export function askInChain(
  ctx: OrchestrationContext,
  id: string,
  request: AnyRequest,
  input: unknown,
  options: ContextAskOptions,
): Task<unknown> {
  const run = runOf(ctx);
  const chain = chains.get(run);
  if (chain === undefined) return ask(run, id, request, input, options);
  if (chain.includes(id)) {
    const path = [...chain, id].map((each) => `"${each}"`).join(" → ");
    const message = `The call of "${request.name}" would wait for itself: ${path}. An entity handles one call at a time.`;
    throw invalidArgument(message);
  }
  if (chain.length >= CHAIN_MAX) {
    const message = `A chain of calls must have at most ${CHAIN_MAX} entities.`;
    throw new PerdureError("LIMIT_EXCEEDED", message);
  }
  return ask(run, id, request, input, { ...options, chain });
}
