// perdure/postgres: durable execution in PostgreSQL, for many processes on many machines.
//   - `provider.ts` implements the storage contract (core/provider). `assemble.ts` creates one object per
//       subject, and each call of the provider goes to one of them.
//   - Folders: `connection` (statements and transactions), `sql` (helpers for statements and rows), `read`,
//       `write`, `lease`, `notify`, `transactions`, `admin`. `migrations.ts` creates and upgrades the
//       tables.
//   - The store owns one schema of a database, and the connections that it opens; not a pool that the
//       caller passes.
//   - Failures: a write whose connection is lost has an unknown outcome; the write fence and the recovery
//       decide it (I14). Transient errors are STORE_UNAVAILABLE, others STORE_INVALID.
//   - `liveness-thread.ts` is loaded by a thread: it writes heartbeats on a separate connection.

export { PostgresProvider } from "./provider.ts";
export type { PostgresOptions } from "./options.ts";
export type { PostgresTarget } from "./connection/location.ts";
export type { InspectOptions, ServerInspection } from "./read/inspection.ts";
export type { Migrate } from "./migrations.ts";
export type { Durability } from "./connection/settings.ts";
export {
  asPool,
  fromDrizzle,
  fromKysely,
  fromPrisma,
  type DrizzleTransaction,
  type KyselyTransaction,
  type LentPool,
  type PostgresTransaction,
  type PrismaTransaction,
} from "./transactions/adapters.ts";
