// The test kit: stand-ins, recorded calls and results are typed by the definitions they are about.

import { activity, event, orchestration } from "perdure";
import { crashEverywhere, type ActivityCall, type TestEnvironment } from "perdure/testing";
import { expectTypeOf } from "../support/expect-type.ts";

declare const kit: TestEnvironment;
interface Order {
  readonly id: number;
}
const charge = activity("charge", async (order: Order) => ({ receipt: order.id }));
const approval = event<{ readonly by: string }>("approval");
const pay = orchestration("pay", async (ctx, order: Order) => ctx.run(charge, order));
const tick = orchestration("tick", async () => 1);

// A stand-in takes the activity's input and gives its output, at once or later.
kit.mock(charge, (order) => ({ receipt: order.id }));
kit.mock(charge, async (order, { attempt }) => ({ receipt: order.id + attempt }));
kit.mock(charge, [new Error("declined"), { receipt: 1 }, (order) => ({ receipt: order.id })]);
// @ts-expect-error: another output
kit.mock(charge, () => "receipt");
// @ts-expect-error: another input
kit.mock(charge, (order: string) => ({ receipt: order.length }));
// @ts-expect-error: one of the outcomes is none
kit.mock(charge, [{ receipt: 1 }, "receipt"]);

// What was asked of an activity has its types; by name nothing is known.
expectTypeOf(kit.calls(charge)).is<readonly ActivityCall<Order, { receipt: number }>[]>();
expectTypeOf(kit.calls("charge")).is<readonly ActivityCall[]>();

// Starts and results follow from the orchestration; events from their definition.
const handle = await kit.start(pay, { id: 1 });
expectTypeOf(await handle.result()).is<{ receipt: number }>();
await kit.start(tick);
// @ts-expect-error: the input is missing
await kit.start(pay);
kit.raiseAt(handle, approval, { by: "ada" }, "2h");
// @ts-expect-error: another payload
kit.raiseAt(handle, approval, { by: 1 }, "2h");
// @ts-expect-error: no duration
await kit.advance("2 hours");

await crashEverywhere(pay, { id: 1 }, { register: [pay, charge] });
// @ts-expect-error: another input
await crashEverywhere(pay, "1", { register: [pay, charge] });
