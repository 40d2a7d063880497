// All API calls of the dashboard. The routes are defined in src/server/routes.

import type { FlowDefinition } from "../../../src/flow/data/definition.ts";
import type {
  BulkAnswer,
  CompletedWork,
  Execution,
  HistoryEvent,
  HistoryPage,
  Instance,
  InstancePage,
  KeyValue,
  Overview,
  Queue,
  RequestAnswer,
  Runtime,
  Session,
  Statistics,
  StreamInfo,
  Timeline,
  TreeShape,
  UnreadPage,
} from "./types.ts";
import { change, get, type Query } from "./request.ts";

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

export const instances = {
  list: (query: Query, signal: AbortSignal) => get<InstancePage>("instances", query, signal),
  count: async (query: Query, signal: AbortSignal) =>
    (await get<{ count: number }>("count", query, signal)).count,
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
  restart: (id: string) => change("POST", `${of(id)}/restart`, { body: {} }),
  fork: (id: string, body: object) => change<{ id: string }>("POST", `${of(id)}/fork`, { body }),
  bulk: (action: string, body: object) => change<BulkAnswer>("POST", `bulk/${action}`, { body }),
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
