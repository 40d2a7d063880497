// A worker whose traces and metrics go to a collector: node worker.ts, in a project with the packages of telemetry.ts.

import { sdk } from "./telemetry.ts"; // first, so that everything after it finds the SDK
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { openTelemetry } from "../../../src/telemetry/index.ts";

const charge = activity("charge", async (cents: number) => `receipt for ${cents} cents`);
const order = orchestration("order", (ctx, cents: number) => ctx.run(charge, cents));

const perdure = await Perdure.open("sqlite::memory:", {
  register: [order, charge],
  runtime: { telemetry: openTelemetry() },
});
console.log(await (await perdure.client.start(order, 4_200)).result());
await perdure.close();
await sdk.shutdown(); // sends what is left
