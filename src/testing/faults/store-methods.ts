// The methods of a provider that ask its store, by name and type: what a fault can strike.
//   SM1. The table is whole: the compiler refuses a contract with a method that is missing here.

import type { Provider } from "../../core/provider/provider.ts";

type Whole = Required<Provider>;
/** Every method that asks the store, with its type; `close` is none, and neither is what answers at once. */
export type StoreMethods = {
  [
    Name in Exclude<keyof Whole, "close"> as Whole[Name] extends (
      ...args: never[]
    ) => Promise<unknown>
      ? Name
      : never
  ]: Whole[Name];
};
/** The name of one of them. */
export type StoreMethod = keyof StoreMethods;

/** "lives" stands for writes that only say who is there: nobody's work depends on a single one of them. */
const KINDS: Readonly<Record<StoreMethod, "reads" | "writes" | "lives">> = {
  commit: "writes",
  settle: "reads",
  leaseInstances: "writes",
  takeMessages: "reads",
  renewInstances: "writes",
  leaseTasks: "writes",
  renewTasks: "writes",
  heartbeatTasks: "writes",
  lostTasks: "reads",
  peek: "reads",
  readInstance: "reads",
  readHistory: "reads",
  readExecutions: "reads",
  readTasks: "reads",
  readInbox: "reads",
  readEvents: "reads",
  registerRuntime: "lives",
  beat: "lives",
  listRuntimes: "reads",
  expireRuntime: "lives",
  readLeases: "reads",
  recordLeaseCheck: "lives",
  removeRuntime: "lives",
  listInstances: "reads",
  findInstances: "reads",
  countInstances: "reads",
  listChildren: "reads",
  deleteInstance: "writes",
  deleteEnded: "writes",
  claimSweep: "lives",
  pruneExecutions: "writes",
  readMetrics: "reads",
  readQueues: "reads",
  readWaiting: "reads",
  readLoads: "reads",
  readStatistics: "reads",
  readKeyValue: "reads",
  readKeyValues: "reads",
  renewSessions: "lives",
  releaseSessions: "lives",
  cleanSessions: "lives",
  listSessions: "reads",
  writeWithin: "writes",
  transact: "writes",
};

export function isStoreMethod(name: string | symbol): name is StoreMethod {
  return typeof name === "string" && Object.hasOwn(KINDS, name);
}

/** Whether the call may change work: instances, messages, tasks. */
export function isWrite(method: StoreMethod): boolean {
  return KINDS[method] === "writes";
}

/** One call on its way to the store: its number from 1, which method, with what. */
export type StoreCall = {
  [Method in StoreMethod]: {
    readonly number: number;
    readonly method: Method;
    readonly args: Readonly<Parameters<StoreMethods[Method]>>;
  };
}[StoreMethod];
