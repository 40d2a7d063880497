// perdure/sqlite: durable execution in one file, without a server and without a native module.
//   - `provider.ts` implements the storage contract (core/provider). `assemble.ts` creates one object per
//       subject, and each call of the provider goes to one of them.
//   - Folders: `connection` (statements and transactions), `sql` (helpers for statements and rows), `read`,
//       `write`, `lease`, `notify`, `transactions`, `admin`. `migrations.ts` creates and upgrades the
//       tables.
//   - The store owns the file, its -wal and its -shm. All processes that use the file must run on one
//       machine.
//   - Failures: a transaction that throws is rolled back. Transient errors are STORE_UNAVAILABLE, others
//       STORE_INVALID.
//   - `liveness-thread.ts` is loaded by a thread: it writes heartbeats and checkpoints the WAL.

export { SqliteProvider } from "./provider.ts";
export type { SqliteOptions } from "./options.ts";
export type { Durability } from "./connection/settings.ts";
export type { Migrate } from "./migrations.ts";
