// The test kit: mocks, recorded calls and results are typed by their definitions.

import { activity, event, orchestration, request } from "perdure";
import { crashEverywhere, type ActivityCall, type TestEnvironment } from "perdure/testing";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const kit: TestEnvironment;
interface Order {
  readonly id: number;
}
const charge = activity("charge", async (order: Order) => ({ receipt: order.id }));
const approval = event<{ readonly by: string }>("approval");
const pay = orchestration("pay", async (ctx, order: Order) => ctx.run(charge, order));
const tick = orchestration("tick", async () => 1);

// A mock takes the activity's input and returns its output, synchronously or asynchronously.
kit.mock(charge, (order) => ({ receipt: order.id }));
kit.mock(charge, async (order, { attempt }) => ({ receipt: order.id + attempt }));
kit.mock(charge, [new Error("declined"), { receipt: 1 }, (order) => ({ receipt: order.id })]);
// @ts-expect-error: a wrong output type
kit.mock(charge, () => "receipt");
// @ts-expect-error: a wrong input type
kit.mock(charge, (order: string) => ({ receipt: order.length }));
// @ts-expect-error: one outcome has a wrong type
kit.mock(charge, [{ receipt: 1 }, "receipt"]);

// Recorded calls have the types of the activity; calls by name are untyped.
expectTypeOf(kit.calls(charge)).is<readonly ActivityCall<Order, { receipt: number }>[]>();
expectTypeOf(kit.calls("charge")).is<readonly ActivityCall[]>();

// Starts and results are typed by the orchestration, events by their definition.
const handle = await kit.start(pay, { id: 1 });
expectTypeOf(await handle.result()).is<{ receipt: number }>();
await kit.start(tick);
// @ts-expect-error: the input is missing
await kit.start(pay);
kit.raiseAt(handle, approval, { by: "ada" }, "2h");
// @ts-expect-error: a wrong payload type
kit.raiseAt(handle, approval, { by: 1 }, "2h");
// Asks and their answers are typed by the request.
const add = request<{ readonly sku: string }, number>("add");
expectTypeOf(await kit.ask(handle, add, { sku: "a" })).is<number>();
expectTypeOf(kit.askAt("id", add, { sku: "a" }, "2h")).is<Promise<number>>();
expectTypeOf(await kit.ask(handle, "add", 1)).is<unknown>();
// @ts-expect-error: a wrong input type
await kit.ask(handle, add, { sku: 1 });
// @ts-expect-error: a wrong input type
void kit.askAt(handle, add, { sku: 1 }, "2h");
// @ts-expect-error: not a duration
await kit.advance("2 hours");

await crashEverywhere(pay, { id: 1 }, { register: [pay, charge] });
// @ts-expect-error: a wrong input type
await crashEverywhere(pay, "1", { register: [pay, charge] });
