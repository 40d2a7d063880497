// perdure/sqlite: durable execution in a file, without a server and without a native module.

export { SqliteProvider } from "./provider.ts";
export type { SqliteOptions } from "./options.ts";
export type { Durability } from "./settings.ts";
export type { Migrate } from "./migrations.ts";
