// Counts the round trips of this process to PostgreSQL.

import pg from "pg";
import { onTestFinished } from "vitest";

/** The number of round trips so far. A Sync message ends each. */
export function countRoundTrips(): () => number {
  const { prototype } = pg.Connection;
  const sync = Reflect.get(prototype, "sync") as () => void;
  let count = 0;
  Reflect.set(prototype, "sync", function (this: pg.Connection) {
    count += 1;
    sync.call(this);
  });
  onTestFinished(() => void Reflect.set(prototype, "sync", sync));
  return () => count;
}
