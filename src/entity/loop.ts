// The orchestration of an entity: it handles the calls of its key, one at a time.
//   - entity.loop.1: The loop compacts itself: it continues as new with its state when its history has grown, at a
//        point where it handles no call. Calls that wait move along.

import { runOf } from "../core/context/orchestration-context.ts";
import type { OrchestrationContext } from "../core/context/types.ts";
import { checkState, stateSchema } from "../core/define/state-schema.ts";
import type { AnyRequest } from "../core/define/request.ts";
import { openRequest, type OpenRequest } from "../core/replay/requests/request-call.ts";
import type { Run } from "../core/replay/run.ts";
import { decodeState, encodeState, publishState } from "../core/replay/requests/published-state.ts";
import { inChain } from "./chain.ts";
import type { EntityInput, Self } from "./types.ts";

/** A handler of any entity: its types fit the state and the request of its definition. */
type Handler = (self: never, input: never) => unknown;

/** When an execution has so many events or bytes, the loop continues as new (entity.loop.1). */
const EVENTS_MAX = 4_000;
const BYTES_MAX = 4_194_304;

interface EntityCode {
  readonly name: string;
  readonly requests: ReadonlyMap<string, AnyRequest>;
  readonly handlers: Readonly<Record<string, Handler>>;
  readonly state: () => unknown;
}

export function entityLoop({ name, requests, handlers, state: initial }: EntityCode) {
  return async (ctx: OrchestrationContext<EntityInput>, input: EntityInput): Promise<never> => {
    checkState(INPUT, input, name);
    // The loop uses no call that depends on the type of the input.
    const run = runOf(ctx as OrchestrationContext);
    const self: Self<unknown> = {
      key: ctx.info.instanceId.slice(name.length + 1),
      state: input.state === null ? initial() : input.state.value,
      ctx: ctx as OrchestrationContext,
    };
    /** The state after the last call, as codec text. */
    let text = encodeState(run, self.state);
    for await (const call of ctx.requests(...requests.values())) {
      const open = openRequest(call);
      if (open.isRecordedAsAnswered) {
        text = open.repeat() ?? text; // published-state.2
      } else {
        self.state = decodeState(run, text); // a handler that threw may have changed it (entity.1)
        text = await handle(run, open, self, handlers[call.name], text);
      }
      const { historyLength, historyBytes } = ctx.info;
      if (historyLength >= EVENTS_MAX || historyBytes >= BYTES_MAX) {
        return ctx.continueAsNew({ state: { value: decodeState(run, text) } });
      }
    }
    throw new Error("The loop of an entity ends only with its instance.");
  };
}

/** Runs a handler and answers its call. Returns the state after it, as codec text. */
async function handle(
  run: Run,
  call: OpenRequest,
  self: Self<unknown>,
  handler: Handler | undefined,
  before: string,
): Promise<string> {
  const began = run.lastSequence;
  try {
    if (handler === undefined) throw new Error(`There is no handler "${call.name}".`);
    // The handler's types fit the state and the request of its definition.
    const typed = handler as (self: Self<unknown>, input: unknown) => unknown;
    const value = await inChain(run, call.chain, async () => typed(self, call.input));
    if (call.isRecordedAsAnswered) return call.repeat() ?? before;
    if (run.lastSequence !== began) run.effects.recordState(); // it made calls (published-state.2)
    const text = encodeState(run, self.state);
    const answer = call.answer(value);
    // One write per turn, however many calls it answers (published-state.1).
    if (answer !== null && text !== before) publishState(run, { text, answer });
    return text;
  } catch (error) {
    if (call.isRecordedAsAnswered) return call.repeat() ?? before;
    if (run.lastSequence !== began) run.effects.recordState(); // published-state.2
    if (!call.isAnswered) call.fail(error);
    return before;
  }
}

export const INPUT = stateSchema<EntityInput>(
  ["state"],
  "an entity begins with its first call, client.entity(definition, key), not by its name",
);
