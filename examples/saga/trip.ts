// A saga: bookings are cancelled, last one first, if the trip fails or is cancelled.

import { activity, event, NonRetryableError, orchestration } from "../../src/index.ts";

export interface Trip {
  readonly to: string;
  readonly soldOut?: "flight" | "hotel" | "car";
  /** Whether to wait for the traveller's confirmation. */
  readonly waits?: boolean;
}
type Part = NonNullable<Trip["soldOut"]>;

export const confirmed = event("confirmed");

export const book = activity(
  "book",
  async ({ part, trip }: { part: Part; trip: Trip }, { idempotencyKey }) => {
    if (trip.soldOut === part) throw new NonRetryableError(`no ${part} in ${trip.to}`);
    console.log(`  booked the ${part}`);
    return `${part}-${idempotencyKey}`; // the same for every attempt, so that nothing is booked twice
  },
  { attempts: 5 },
);
export const cancelBooking = activity(
  "cancelBooking",
  async ({ part }: { part: Part; booking: string }) => {
    console.log(`  gave back the ${part}`);
  },
  { attempts: 10 },
);

export const trip = orchestration("trip", async (ctx, trip: Trip) => {
  const parts: Part[] = ["flight", "hotel", "car"];
  for (const part of parts) {
    const booking = await ctx.run(book, { part, trip });
    ctx.compensate(() => ctx.run(cancelBooking, { part, booking }));
  }
  if (trip.waits === true) {
    ctx.setStatus("everything is booked");
    await ctx.waitFor(confirmed);
  }
  return `a trip to ${trip.to}`;
});
