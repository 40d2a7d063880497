// Store methods: the methods of a provider that access its store, by name and type. Each can have a fault.
//   - The table is complete: the code does not compile if a method of the provider is missing here.

import type { Provider } from "../../core/provider/provider.ts";

type Whole = Required<Provider>;
/** Every method that accesses the store, with its type. `close` and synchronous methods are not included. */
export type StoreMethods = {
  [
    Name in Exclude<keyof Whole, "close"> as Whole[Name] extends (
      ...args: never[]
    ) => Promise<unknown>
      ? Name
      : never
  ]: Whole[Name];
};
/** The name of a store method. */
export type StoreMethod = keyof StoreMethods;

/**
 * "liveness" marks writes of liveness records (runtimes, sessions, sweeps). They do not change instances or
 * tasks.
 */
const KINDS: Readonly<Record<StoreMethod, "reads" | "writes" | "liveness">> = {
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
  nextDue: "reads",
  storeId: "reads",
  readInstance: "reads",
  readHistory: "reads",
  readExecutions: "reads",
  readTasks: "reads",
  readInbox: "reads",
  readEvents: "reads",
  readAsks: "reads",
  registerRuntime: "liveness",
  beat: "liveness",
  listRuntimes: "reads",
  expireRuntime: "liveness",
  readLeases: "reads",
  recordLeaseCheck: "liveness",
  removeRuntime: "liveness",
  listInstances: "reads",
  findInstances: "reads",
  countInstances: "reads",
  readWaits: "reads",
  countByName: "reads",
  listChildren: "reads",
  deleteInstance: "writes",
  deleteEnded: "writes",
  deleteExpired: "writes",
  claimSweep: "liveness",
  pruneExecutions: "writes",
  readMetrics: "reads",
  readQueues: "reads",
  readWaiting: "reads",
  readLoads: "reads",
  readStatistics: "reads",
  readKeyValue: "reads",
  readKeyValues: "reads",
  readStream: "reads",
  listStreams: "reads",
  readKept: "reads",
  expireKept: "writes",
  declareQueues: "liveness",
  readQueueStates: "reads",
  pauseQueue: "writes",
  resumeQueue: "writes",
  adjustAdmissions: "liveness",
  reportOutcomes: "liveness",
  readQueueFigures: "reads",
  readQueueKeys: "reads",
  renewSessions: "liveness",
  releaseSessions: "liveness",
  cleanSessions: "liveness",
  listSessions: "reads",
  writeWithin: "writes",
  transact: "writes",
};

export function isStoreMethod(name: string | symbol): name is StoreMethod {
  return typeof name === "string" && Object.hasOwn(KINDS, name);
}

/** Whether the method may change instances, messages or tasks. */
export function isWrite(method: StoreMethod): boolean {
  return KINDS[method] === "writes";
}

/** One call to the store: its number, counted from 1, its method and its arguments. */
export type StoreCall = {
  [Method in StoreMethod]: {
    readonly number: number;
    readonly method: Method;
    readonly args: Readonly<Parameters<StoreMethods[Method]>>;
  };
}[StoreMethod];
