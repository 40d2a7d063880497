// Which database an instance lives on, by its id alone.
//   - Rendezvous hashing: every database bids for the id, the highest bid wins. No table, no coordinator.
//   - A new database takes its share from all others; nothing moves between the existing ones.

import { createHash } from "node:crypto";

export function databaseOf(id: string, databases: readonly string[]): string {
  const bids = databases.map((database) => ({ database, bid: bidOf(database, id) }));
  const best = bids.reduce((a, b) => (b.bid > a.bid ? b : a));
  return best.database;
}

function bidOf(database: string, id: string): number {
  return createHash("sha256").update(`${database}\n${id}`).digest().readUIntBE(0, 6);
}
