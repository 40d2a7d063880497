// Events: what is raised and what is received follow from the definition; a bare name promises nothing.

import { event, type EventDef, type Handle, type OrchestrationContext, type Task } from "perdure";
import { expectTypeOf } from "../support/expect-type.ts";
import { schema } from "./schema.ts";

declare const ctx: OrchestrationContext;
declare const handle: Handle;

const approval = event<{ by: string }>("approval");
const ping = event("ping");
const note = event<string | undefined>("note");
const amount = event("amount", schema<string, number>());

expectTypeOf(approval).is<EventDef<{ by: string }>>();
expectTypeOf(amount).is<EventDef<number, string>>();

// Received, …
expectTypeOf(ctx.event(approval)).is<Task<{ by: string }>>();
expectTypeOf(await ctx.event(ping)).is<undefined>();
expectTypeOf(await ctx.event(note)).is<string | undefined>();
expectTypeOf(await ctx.event(amount)).is<number>();
expectTypeOf(await ctx.event("by name")).is<unknown>();
ctx.event(approval, { since: "now", details: { who: "ada" } });
// @ts-expect-error no such moment
ctx.event(approval, { since: "yesterday" });
for await (const received of ctx.events(approval)) expectTypeOf(received).is<{ by: string }>();
for await (const received of ctx.events("by name")) expectTypeOf(received).is<unknown>();

// … and raised.
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
// @ts-expect-error a member that nobody asked for
handle.raise(approval, { by: "ada", note: "gladly" });
// @ts-expect-error callers give what the schema takes, not what it makes of it
handle.raise(amount, 12.5);
// @ts-expect-error there is no data to this one
handle.raise(ping, "text");

// An event is no branch; waiting for it is.
ctx.race({ yes: ctx.event(approval), late: ctx.sleep("2d") });
// @ts-expect-error the definition by itself waits for nothing
ctx.race({ yes: approval });
