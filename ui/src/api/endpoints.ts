// All API calls of the dashboard. The routes are defined in src/server/routes.

import type { FlowDefinition } from "../../../src/flow/data/definition.ts";
import type {
  BulkAnswer,
  CompletedWork,
  EntityName,
  EntityPage,
  Execution,
  HistoryEvent,
  HistoryPage,
  Instance,
  InstancePage,
  KeyValue,
  Limiter,
  Overview,
  Queue,
  QueueDetail,
  RequestAnswer,
  RewindReport,
  Runtime,
  Schedule,
  Session,
  Statistics,
  StreamInfo,
  Timeline,
  TreeShape,
  UnreadPage,
} from "./types.ts";
import { change, get, type Query } from "./request.ts";

interface NameCount {
  readonly name: string;
  readonly count: number;
}
interface Items<T> {
  readonly items: readonly T[];
}
function of(id: string): string {
  return `instances/${encodeURIComponent(id)}`;
}

export const session = {
  read: (signal?: AbortSignal) => get<Session>("session", {}, signal),
  open: (token: string) => change("POST", "session", { token }),
  close: () => change("DELETE", "session"),
};

export const store = {
  overview: (signal: AbortSignal) => get<Overview>("overview", {}, signal),
  queues: async (signal: AbortSignal) => (await get<Items<Queue>>("queues", {}, signal)).items,
  runtimes: async (signal: AbortSignal) =>
    (await get<Items<Runtime>>("runtimes", {}, signal)).items,
};

function ofQueue(name: string): string {
  return `queues/${encodeURIComponent(name)}`;
}

export const queues = {
  read: (name: string, signal: AbortSignal) => get<QueueDetail>(ofQueue(name), {}, signal),
  pause: (name: string, body: object) => change("POST", `${ofQueue(name)}/pause`, { body }),
  resume: (name: string) => change("POST", `${ofQueue(name)}/resume`, { body: {} }),
  retryFailed: (name: string, body: object) =>
    change<BulkAnswer>("POST", `${ofQueue(name)}/retry-failed`, { body }),
};

/** Schedules, limiters and entities. Their actions are actions on their instances. */
export const builtIns = {
  schedules: async (signal: AbortSignal) =>
    (await get<Items<Schedule>>("schedules", {}, signal)).items,
  schedule: (name: string, signal: AbortSignal) =>
    get<Schedule>(`schedules/${encodeURIComponent(name)}`, {}, signal),
  limiters: async (signal: AbortSignal) =>
    (await get<Items<Limiter>>("limiters", {}, signal)).items,
  entities: async (signal: AbortSignal) =>
    (await get<Items<EntityName>>("entities", {}, signal)).items,
  entityKeys: (name: string, query: Query, signal: AbortSignal) =>
    get<EntityPage>(`entities/${encodeURIComponent(name)}`, query, signal),
};

export const instances = {
  list: (query: Query, signal: AbortSignal) => get<InstancePage>("instances", query, signal),
  count: async (query: Query, signal: AbortSignal) =>
    (await get<{ count: number }>("count", query, signal)).count,
  /** The names of the instances in the store. */
  names: async (signal: AbortSignal) =>
    (await get<Items<NameCount>>("counts", { by: ["name"] }, signal)).items.toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    ),
  describe: (id: string, signal: AbortSignal) => get<Instance>(of(id), {}, signal),
  start: (body: object) => change<{ id: string }>("POST", "instances", { body }),
  remove: (id: string, force: boolean) => change<object>("DELETE", of(id), { query: { force } }),
  raise: (id: string, body: { readonly name: string; readonly data?: unknown }) =>
    change("POST", `${of(id)}/events`, { body }),
  ask: (id: string, name: string, body: { readonly requestId: string; readonly input?: unknown }) =>
    change<RequestAnswer>("POST", `${of(id)}/requests/${encodeURIComponent(name)}`, { body }),
  cancel: (id: string, body: object) => change("POST", `${of(id)}/cancel`, { body }),
  terminate: (id: string, body: object) => change("POST", `${of(id)}/terminate`, { body }),
  pause: (id: string, body: object) => change("POST", `${of(id)}/pause`, { body }),
  resume: (id: string) => change("POST", `${of(id)}/resume`, { body: {} }),
  unblock: (id: string) => change("POST", `${of(id)}/unblock`, { body: {} }),
  /** With `dryRun`: the preview. */
  rewind: (id: string, body: object) => change<RewindReport>("POST", `${of(id)}/rewind`, { body }),
  restart: (id: string, body: object) => change("POST", `${of(id)}/restart`, { body }),
  fork: (id: string, body: object) => change<{ id: string }>("POST", `${of(id)}/fork`, { body }),
  bulk: (
    action: string,
    { filter, ...rest }: { readonly filter: object; readonly [option: string]: unknown },
  ) => {
    const body = { filter: Object.keys(filter).length === 0 ? { all: true } : filter, ...rest };
    return change<BulkAnswer>("POST", `bulk/${action}`, { body });
  },
};

export const inspect = {
  history: (id: string, query: Query, signal: AbortSignal) =>
    get<HistoryPage>(`${of(id)}/history`, query, signal),
  event: (id: string, sequence: number, execution: number, signal: AbortSignal) =>
    get<HistoryEvent>(`${of(id)}/history/${sequence}`, { execution }, signal),
  timeline: (id: string, query: Query, signal: AbortSignal) =>
    get<Timeline>(`${of(id)}/timeline`, query, signal),
  executions: async (id: string, signal: AbortSignal) =>
    (await get<Items<Execution>>(`${of(id)}/executions`, {}, signal)).items,
  /** The completed work that a restart would run again. */
  completed: async (id: string, signal: AbortSignal) =>
    (await get<Items<CompletedWork>>(`${of(id)}/completed`, {}, signal)).items,
  /** The first page. A cursor in the answer means that there are more. */
  unread: (id: string, signal: AbortSignal) => get<UnreadPage>(`${of(id)}/unread`, {}, signal),
  keyValues: async (id: string, signal: AbortSignal) =>
    (await get<Items<KeyValue>>(`${of(id)}/kv`, {}, signal)).items,
  tree: (id: string, signal: AbortSignal) => get<TreeShape>(`${of(id)}/tree`, {}, signal),
  streams: async (id: string, signal: AbortSignal) =>
    (await get<Items<StreamInfo>>(`${of(id)}/streams`, {}, signal)).items,
  streamPath: (id: string, name: string) => `${of(id)}/streams/${encodeURIComponent(name)}`,
  /** The definition is absent if no running worker registers this version. */
  flow: (id: string, signal: AbortSignal) =>
    get<{ readonly definition?: FlowDefinition }>(`${of(id)}/flow`, {}, signal),
  statistics: (id: string, signal: AbortSignal) => get<Statistics>(`${of(id)}/stats`, {}, signal),
};
