// node examples/saga/main.ts [FILE]: a trip that works, one that fails half-way, one that is cancelled at the end.

import { Perdure } from "../../src/index.ts";
import { book, cancelBooking, trip, type Trip } from "./trip.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [trip, book, cancelBooking],
});

await runTrip("everything works", { to: "Rome" });
await runTrip("no car", { to: "Oslo", soldOut: "car" });
await runTrip("the traveller changes her mind", { to: "Bern", waits: true }, true);

async function runTrip(title: string, wish: Trip, isCancelled = false): Promise<void> {
  console.log(title);
  const handle = await perdure.client.start(trip, wish);
  if (isCancelled) {
    for await (const { customStatus } of handle.watch()) {
      if (customStatus === "everything is booked") break;
    }
    await handle.cancel("changed her mind");
  }
  const outcome = await handle.result().catch((error: Error) => error.message);
  console.log(`  ${outcome}`);
}
