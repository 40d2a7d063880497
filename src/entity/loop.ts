// The orchestration of an entity: it handles the calls of its key, one at a time.
//   - entity.loop.1: The loop compacts itself: it continues as new with its state when its history has grown, at a
//        point where it handles no call. Calls that wait move along.

import { runOf } from "../core/context/orchestration-context.ts";
import type { OrchestrationContext } from "../core/context/types.ts";
import { checkState, stateSchema } from "../core/define/state-schema.ts";
import type { AnyRequest } from "../core/define/request.ts";
import { chainOf } from "../core/replay/request-call.ts";
import { decodeState, encodeState, publishState } from "../core/replay/published-state.ts";
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
    const key = ctx.info.instanceId.slice(name.length + 1);
    const self: Self<unknown> = {
      key,
      state: input.state === null ? initial() : input.state.value,
      ctx: ctx as OrchestrationContext,
    };
    let committed = encodeState(run, self.state);
    for await (const call of ctx.requests(...requests.values())) {
      // The definition of the entity checked that there is a handler for each request.
      const handler = handlers[call.name] as (self: Self<unknown>, input: unknown) => unknown;
      try {
        const answer = await inChain(run, chainOf(call), async () => handler(self, call.input));
        const text = encodeState(run, self.state);
        call.answer(answer as never); // the asker's type comes from the same handler
        if (text !== committed) publishState(run, text);
        committed = text;
      } catch (error) {
        self.state = decodeState(run, committed); // entity.1
        if (!call.isAnswered) call.fail(error);
      }
      const { historyLength, historyBytes } = ctx.info;
      if (historyLength >= EVENTS_MAX || historyBytes >= BYTES_MAX) {
        return ctx.continueAsNew({ state: { value: self.state } });
      }
    }
    throw new Error("The loop of an entity ends only with its instance.");
  };
}

export const INPUT = stateSchema<EntityInput>(
  ["state"],
  "an entity begins with its first call, client.entity(definition, key), not by its name",
);
