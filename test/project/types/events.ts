// Events: the types of raised and received data are inferred from the definition; an event by name is untyped.

import {
  event,
  type EventDef,
  type Handle,
  type OrchestrationContext,
  type Task,
  type WaitForOptions,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";
import { schema } from "./schema.ts";

declare const ctx: OrchestrationContext;
declare const handle: Handle;

const approval = event<{ by: string }>("approval");
const ping = event("ping");
const note = event<string | undefined>("note");
const amount = event("amount", schema<string, number>());

expectTypeOf(approval).is<EventDef<{ by: string }>>();
expectTypeOf(amount).is<EventDef<number, string>>();

// The types of received data.
expectTypeOf(ctx.waitFor(approval)).is<Task<{ by: string }>>();
expectTypeOf(await ctx.waitFor(ping)).is<undefined>();
expectTypeOf(await ctx.waitFor(note)).is<string | undefined>();
expectTypeOf(await ctx.waitFor(amount)).is<number>();
expectTypeOf(await ctx.waitFor("by name")).is<unknown>();
ctx.waitFor(approval, { since: "now", details: { user: "ada" } });
expectTypeOf(ctx.waitFor(approval, { since: "now" })).is<Task<{ by: string }>>();

// With a timeout the result may be null.
expectTypeOf(ctx.waitFor(approval, { timeout: "2d" })).is<Task<{ by: string } | null>>();
expectTypeOf(await ctx.waitFor(amount, { timeout: 5, since: "now" })).is<number | null>();
declare const options: WaitForOptions;
expectTypeOf(await ctx.waitFor(amount, options)).is<number | null>();
// @ts-expect-error an unknown value of since
ctx.waitFor(approval, { since: "yesterday" });
for await (const received of ctx.events(approval)) expectTypeOf(received).is<{ by: string }>();
for await (const received of ctx.events("by name")) expectTypeOf(received).is<unknown>();

// The types of raised data.
handle.raise(approval, { by: "ada" });
handle.raise(approval, { by: "ada" }, { requestId: "once" });
handle.raise(ping);
handle.raise(note);
handle.raise(note, "text");
handle.raise(amount, "12.50");
handle.raise("by name", { any: "thing" });
handle.raise("by name");
// @ts-expect-error the data is missing
handle.raise(approval);
// @ts-expect-error a wrong member
handle.raise(approval, { by: 7 });
// @ts-expect-error an unknown member
handle.raise(approval, { by: "ada", note: "gladly" });
// @ts-expect-error callers pass the input type of the schema, not its output type
handle.raise(amount, 12.5);
// @ts-expect-error this event has no data
handle.raise(ping, "text");

// A wait for an event is a branch; the event itself is not.
ctx.race({ yes: ctx.waitFor(approval), late: ctx.sleep("2d") });
// @ts-expect-error a definition is not a task
ctx.race({ yes: approval });
