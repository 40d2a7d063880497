// Streams of server-sent events: the states of one instance, and what changes anywhere.
//   WS1. The first state is the present one. So a reader that comes back has missed nothing that still holds, and
//        its Last-Event-ID is not needed.
//   WS2. States come at most every `paceMs`; those in between are skipped, the last one never (WA1).

import type * as v from "valibot";
import { notFound } from "../../client/store.ts";
import type { News } from "../../core/provider/notifications.ts";
import { watchAccess } from "../access-watch.ts";
import { eventStream, type ServerSentEvent } from "../event-stream.ts";
import { pause } from "../pauses.ts";
import { streams, type CallBase } from "../route.ts";
import { change, instance } from "../schemas/instance.ts";
import { instanceToHttp } from "../wire/instance.ts";
import { byId } from "./instances.ts";

const tag = "streams";
/** Ids in one `change` event; of more it says `all`. */
const IDS_MAX = 500;

export const streamRoutes = [
  streams({
    method: "GET",
    path: "/instances/:id/watch",
    operation: "watchInstance",
    summary: "The states of an instance as they come: events `state`, then `end`.",
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
  streams({
    method: "GET",
    path: "/changes",
    operation: "watchChanges",
    summary: "Ids of instances that changed, gathered: events `change`. `all`: look at everything.",
    tag,
    role: "viewer",
    events: change,
    errors: ["STREAMS_EXHAUSTED"],
    run: async (call) => open(call, (signal) => changes(call, signal)),
  }),
];

type Source = AsyncGenerator<ServerSentEvent, void, undefined>;

function open(call: CallBase, source: (signal: AbortSignal) => Source): ReadableStream<Uint8Array> {
  const { services, caller, request } = call;
  const slot = services.slots.stream(caller.name, request.signal);
  void watchAccess(call, slot);
  const { heartbeatMs } = services.settings.limits;
  return eventStream({ slot, source: source(slot.signal), heartbeatMs });
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
  const news = new Gathered();
  const unsubscribe = services.provider.subscribe((heard) => news.add(heard));
  try {
    while (!signal.aborted) {
      await news.some(signal);
      await pause(services.settings.limits.paceMs, signal);
      if (!signal.aborted) yield { event: "change", data: news.take() };
    }
  } finally {
    unsubscribe();
  }
}

/** News since the last look, bounded. */
class Gathered {
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

  /** Resolves when there is something, or the signal is aborted. */
  async some(signal: AbortSignal): Promise<void> {
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
