// perdure/postgres: durable execution in PostgreSQL, for many processes on many machines.

export { PostgresProvider, type PostgresOptions } from "./provider.ts";
export type { PostgresTarget } from "./location.ts";
export type { Migrate } from "./migrations.ts";
export type { Durability } from "./settings.ts";
