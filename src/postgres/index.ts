// perdure/postgres: durable execution in PostgreSQL, for many processes on many machines.

export { PostgresProvider } from "./provider.ts";
export type { PostgresOptions } from "./options.ts";
export type { PostgresTarget } from "./location.ts";
export type { InspectOptions, ServerInspection } from "./inspection.ts";
export type { Migrate } from "./migrations.ts";
export type { Durability } from "./settings.ts";
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
} from "./adapters.ts";
