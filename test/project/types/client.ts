// The client: start, handles and results have the types of their orchestration.

import {
  activity,
  isPerdureError,
  orchestration,
  Perdure,
  type Client,
  type ErrorCode,
  type Handle,
  type InstanceInfo,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const client: Client;
const fulfil = orchestration("fulfil", async (_, order: { id: number }) => ({
  receipt: `${order.id}`,
}));
const nightly = orchestration("nightly", async () => undefined);
const optional = orchestration("optional", async (_, name?: string) => name ?? null);
const charge = activity("charge", (amount: number) => amount);

// start
expectTypeOf(await client.start(fulfil, { id: 1 })).is<Handle<{ receipt: string }>>();
expectTypeOf(await (await client.start(fulfil, { id: 1 })).result()).is<{ receipt: string }>();
expectTypeOf(await (await client.start(nightly)).result()).is<undefined>();
expectTypeOf(await (await client.start(optional)).result()).is<string | null>();
client.start(nightly, undefined, { id: "tonight", delay: "8h", priority: 1 });
client.start(fulfil, { id: 1 }, { id: "order-1", onConflict: "useExisting", requestId: "r" });
client.start(fulfil, { id: 1 }, { at: new Date(0), attributes: { customer: "42" } });
// @ts-expect-error the input is missing
client.start(fulfil);
// @ts-expect-error not a number
client.start(fulfil, { id: "1" });
// @ts-expect-error an unknown member
client.start(fulfil, { id: 1, note: "gift" });
// @ts-expect-error no such policy
client.start(fulfil, { id: 1 }, { onConflict: "replace" });
// @ts-expect-error no such option
client.start(fulfil, { id: 1 }, { ID: "order-1" });
client.start(fulfil, { id: 1 }, { attributes: { cents: 42, isGift: true, due: new Date(0) } });
// @ts-expect-error attributes are texts, numbers, booleans or dates
client.start(fulfil, { id: 1 }, { attributes: { customer: { id: 42 } } });
// @ts-expect-error an activity is not started
client.start(charge, 1);

// A start by name is untyped.
expectTypeOf(await client.start("fulfil", { id: 1 })).is<Handle<unknown>>();
expectTypeOf(await (await client.start("fulfil")).result()).is<unknown>();

// get
expectTypeOf(client.get(fulfil, "order-1")).is<Handle<{ receipt: string }>>();
expectTypeOf(client.get("order-1")).is<Handle<unknown>>();
expectTypeOf(await client.get(fulfil, "order-1").result({ timeout: "5s" })).is<{
  receipt: string;
}>();
// @ts-expect-error an instance id is missing
client.get(fulfil);
// @ts-expect-error handles of different result types are not assignable
const wrong: Handle<number> = client.get(fulfil, "order-1");

// describe
const info = await client.get("order-1").describe();
expectTypeOf(info).is<InstanceInfo>();
expectTypeOf(info.output).is<unknown>();
const [wait] = info.waitingFor;
if (wait?.kind === "timer") expectTypeOf(wait.due).is<Date>();
// @ts-expect-error a timer has no name
if (wait?.kind === "timer") wait.name;

// Errors are distinguished by code, without a cast.
try {
  await client.get("order-1").cancel({ reason: "out of stock", by: "ada" });
} catch (error) {
  if (isPerdureError(error)) expectTypeOf(error.code).is<ErrorCode>();
  if (isPerdureError(error, "INSTANCE_FINISHED")) {
    expectTypeOf(error.code).is<"INSTANCE_FINISHED">();
  }
  // @ts-expect-error no such code
  isPerdureError(error, "FINISHED");
}

// Activities and orchestrations of any types can be registered.
await Perdure.open("sqlite::memory:", { register: [fulfil, nightly, optional, charge] });
// @ts-expect-error a plain function
await Perdure.open("sqlite::memory:", { register: [async () => 1] });
// @ts-expect-error no such option
await Perdure.open("sqlite::memory:", { runtime: { concurrency: 5 } });
await using perdure = await Perdure.open("sqlite::memory:");
expectTypeOf(perdure.client).is<Client>();
