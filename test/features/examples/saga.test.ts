// The saga example prints what its README shows, and its compensations continue after an interruption.

import { expect, test } from "vitest";
import { trip, book } from "../../../examples/saga/trip.ts";
import { activity, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("saga");
  expect(printed).toBe(promisedOutput("saga"));
  expect(complaints).toBe("");
});

test("the next runtime completes compensations that a shutdown interrupted", async () => {
  const provider = await SqliteProvider.open(":memory:");
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const hangs = activity("cancelBooking", async (_: unknown, { signal }) => {
    reach();
    await new Promise((_, reject) => signal.addEventListener("abort", reject));
  });
  const first = await Perdure.open(provider, { register: [trip, book, hangs] });
  const handle = await first.client.start(trip, { to: "Oslo", soldOut: "car" });
  await reached; // the hotel is being cancelled
  await first.close({ graceMs: 0 });

  const cancelled: string[] = [];
  const cancelBooking = activity("cancelBooking", async ({ part }: { part: string }) => {
    cancelled.push(part);
  });
  const second = await Perdure.open(provider, { register: [trip, book, cancelBooking] });
  await expect(second.client.get(trip, handle.id).result()).rejects.toThrow("no car in Oslo");
  expect(cancelled).toEqual(["hotel", "flight"]);
  await second.close();
  await provider.close();
});
