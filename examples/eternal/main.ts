// node examples/eternal/main.ts [FILE]: a thousand readings, and what remains of them in the store.

import { Perdure } from "../../src/index.ts";
import { meter, reading, type Meter } from "./meter.ts";

const READINGS = 1_000;

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [meter],
  runtime: { retention: { keepExecutions: 2, cancelled: "30d" } },
});
const handle = await perdure.client.start(meter, { total: 0, readings: 0 });

for (let sent = 0; sent < READINGS; sent++) await handle.raise(reading, 1);
for await (const { customStatus, execution } of handle.watch()) {
  const status = customStatus as Meter | undefined;
  if (status?.readings !== READINGS || execution !== READINGS / 100 + 1) continue;
  console.log(`${status.readings} readings, ${status.total} in all, execution ${execution}`);
  break;
}

// Retention prunes a little later; this call prunes now.
await perdure.client.prune(handle.id, { keepLast: 2 });
for (const { execution, status } of await handle.executions()) {
  console.log(`execution ${execution}: ${status}`);
}
await handle.cancel("the house is sold");
await handle.result().catch((error: Error) => console.log(error.message));
