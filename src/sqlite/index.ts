// perdure/sqlite: durable execution in a file, without a server and without a native module.

export { SqliteProvider, type SqliteOptions } from "./provider.ts";
export type { Durability } from "./settings.ts";
export type { Migrate } from "./migrations.ts";
