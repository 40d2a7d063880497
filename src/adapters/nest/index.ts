// perdure/nest: Perdure in a Nest application, on Express or Fastify.
//   - module.ts is what the application imports; host.ts connects it to Nest's hooks.
//   - activities.ts declares activities whose functions are methods of providers; discovery.ts finds those methods.
//   - On failure: a wrong option or activity ends the start of the application with INVALID_ARGUMENT, before the runtime
//       takes work. If the store cannot be opened, the application does not start.

export { Activity, declareActivity } from "./activities.ts";
export type { ActivityDecorator, DeclaredActivity } from "./activities.ts";
export { PerdureNest, type NestOptions, type NestRequest } from "./host.ts";
export { PerdureModule, type NestAsyncOptions, type PerdureDynamicModule } from "./module.ts";
export type { AppOptions, PerdureApp } from "../app.ts";
