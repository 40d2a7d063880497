// perdure/limiter: concurrency and rate limits per key, across all processes.

export { limiter, Limiter, type LimiterRunOptions } from "./limiter.ts";
export type { LimiterOptions, LimiterRule, StoredRule } from "./rule.ts";
export type { Ticket } from "./messages.ts";
export type { LimiterState, LimiterStatus } from "./state.ts";
