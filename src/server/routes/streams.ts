// Streams of server-sent events: the states of one instance, and the ids of changed instances.
//   - The first event of an instance's stream is its current state. A client that reconnects therefore
//        misses no current state and does not need Last-Event-ID.
//   - The server sends a state at most every `paceMs` and skips those in between. It never skips the last
//        one (watch.1).

import type * as v from "valibot";
import { notFound } from "../../client/store.ts";
import type { News } from "../../core/provider/notifications.ts";
import { watchAccess } from "../security/access-watch.ts";
import type { StreamSlot } from "../security/concurrency-slots.ts";
import { eventStream, type ServerSentEvent } from "../http/event-stream.ts";
import { pause } from "../http/pauses.ts";
import { eventRoute, type CallBase } from "../http/route.ts";
import { change, instance } from "../schemas/instance.ts";
import { instanceToHttp } from "../wire/instance.ts";
import { byId } from "./instances.ts";

const tag = "streams";
/** The most ids in one `change` event. With more changes the event has `all` instead. */
const IDS_MAX = 500;

export const streamRoutes = [
  eventRoute({
    method: "GET",
    path: "/instances/:id/watch",
    operation: "watchInstance",
    summary: "A stream of the states of an instance: events `state`, then `end`.",
    tag,
    role: "viewer",
    params: byId,
    events: instance,
    errors: ["INSTANCE_NOT_FOUND", "STREAMS_EXHAUSTED"],
    run: async (call) => {
      const { services, params } = call;
      const handle = services.client.get(params.id);
      if (!(await handle.exists())) throw notFound(params.id);
      return open(call, (signal) => states(call, params.id, signal));
    },
  }),
  eventRoute({
    method: "GET",
    path: "/changes",
    operation: "watchChanges",
    summary:
      "A stream of the ids of changed instances: events `change`. `all`: any instance may have changed.",
    tag,
    role: "viewer",
    events: change,
    errors: ["STREAMS_EXHAUSTED"],
    run: async (call) => open(call, (signal) => changes(call, signal)),
  }),
];

type Source = AsyncGenerator<ServerSentEvent, void, undefined>;

function open(call: CallBase, source: (signal: AbortSignal) => Source): ReadableStream<Uint8Array> {
  const slot = streamSlot(call);
  const { heartbeatMs } = call.services.settings.limits;
  return eventStream({ slot, source: source(slot.signal), heartbeatMs });
}

/** A slot that is released when the caller disconnects or loses its access. */
export function streamSlot(call: CallBase): StreamSlot {
  const { services, caller, request } = call;
  const slot = services.slots.stream(caller.name, request.signal);
  void watchAccess(call, slot);
  return slot;
}

async function* states({ services }: CallBase, id: string, signal: AbortSignal): Source {
  const { client, codec, settings } = services;
  for await (const info of client.get(id).watch({ signal })) {
    yield { event: "state", data: instanceToHttp(info, codec) };
    await pause(settings.limits.paceMs, signal);
  }
  yield { event: "end", data: {} };
}

async function* changes({ services }: CallBase, signal: AbortSignal): Source {
  const pending = new PendingChanges();
  const unsubscribe = services.provider.subscribe((notification) => pending.add(notification));
  try {
    while (!signal.aborted) {
      await pending.available(signal);
      await pause(services.settings.limits.paceMs, signal);
      if (!signal.aborted) yield { event: "change", data: pending.take() };
    }
  } finally {
    unsubscribe();
  }
}

/** The changes since the last `take`, bounded by IDS_MAX. */
class PendingChanges {
  readonly #ids = new Set<string>();
  #all = false;
  #wake: (() => void) | null = null;

  add(news: News): void {
    if (news.elsewhere) this.#all = true;
    for (const list of [news.due, news.changed, news.progressed ?? []]) {
      for (const id of list) this.#ids.add(id);
    }
    if (this.#ids.size > IDS_MAX) this.#all = true;
    if (this.#all) this.#ids.clear();
    if (this.#all || this.#ids.size > 0) this.#wake?.();
  }

  /** Resolves when there is a change, or when the signal aborts. */
  async available(signal: AbortSignal): Promise<void> {
    if (this.#all || this.#ids.size > 0 || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
    this.#wake = null;
  }

  take(): v.InferInput<typeof change> {
    const taken = { ids: [...this.#ids], all: this.#all };
    this.#ids.clear();
    this.#all = false;
    return taken;
  }
}
