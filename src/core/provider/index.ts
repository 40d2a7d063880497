// The storage contract: the types that every provider implements. README.md lists the files.
export type * from "./admin.ts";
export type * from "./asks.ts";
export type * from "./callbacks.ts";
export type * from "./commit.ts";
export type * from "./enqueue.ts";
export type * from "./kept.ts";
export type * from "./messages.ts";
export type * from "./notifications.ts";
export type * from "./provider.ts";
export type * from "./queues.ts";
export type * from "./runtimes.ts";
export type * from "./sessions.ts";
export type * from "./state.ts";
export type * from "./streams.ts";
export type * from "./tasks.ts";
export type * from "./transactions.ts";
export type * from "./transfer.ts";
export * from "./instances.ts";
