// Request box: the requests that an execution has received, and the services that accept them.
//   - A request goes to the service of its name if the service accepts one now. Otherwise it stays unread, in
//       order of arrival.
//   - request-box.2: A deploy may change the names of an open service. In a replay the recorded names decide. The
//       first live turn records the names of today, which are valid from then on. A request of a new name that the
//       execution has received before is taken after the next one.
//   - request-box.1: A request is open from its receipt to its answer. Open requests move along with
//       `continueAsNew`. At the end of an execution their askers get INSTANCE_FINISHED.

import { LazyMap } from "../../collections/lazy-map.ts";
import type { RequestReceived, RequestsChanged } from "../../history/events.ts";
import { requestMessageKey, requestMessageName } from "../../ids/request-messages.ts";
import type { RequestMessage } from "../../ids/request-messages.ts";
import type { KeptMessage } from "../../provider/messages.ts";
import type { Run } from "../run.ts";

/** A request, with the sequence number of its RequestReceived. */
export interface ReceivedRequest extends RequestReceived {
  readonly sequence: number;
}

/** Code that handles the requests of some names: a loop or a handler. */
export interface RequestService {
  /** The names that it accepts. In a replay: the recorded ones. */
  names: readonly string[];
  /** The event that last changed the names; 0: none did. */
  changedAt: number;
  /** The names in the code of today. */
  readonly wanted: readonly string[];
  /** Whether it takes a request now. */
  readonly accepts: boolean;
  take(request: ReceivedRequest): void;
  /** The input that the code receives. Throws if a schema or the validation refuses it. */
  check(name: string, input: unknown): unknown;
}

export class RequestBox {
  /** A service with several names has several entries. */
  readonly #services = new LazyMap<string, RequestService>();
  readonly #unread = new LazyMap<string, ReceivedRequest[]>();
  readonly #open = new LazyMap<number, ReceivedRequest>();
  #unreadCount = 0;

  get unreadCount(): number {
    return this.#unreadCount;
  }
  /** Whether a service takes a request now. */
  get isWaiting(): boolean {
    for (const service of this.#services.values()) if (service.accepts) return true;
    return false;
  }

  serviceOf(name: string): RequestService | undefined {
    return this.#services.get(name);
  }
  open(service: RequestService): void {
    for (const name of service.names) this.#services.set(name, service);
  }
  close(service: RequestService): void {
    for (const name of service.names) {
      if (this.#services.get(name) === service) this.#services.delete(name);
    }
  }

  receive(request: ReceivedRequest): void {
    this.#open.set(request.sequence, request);
    const service = this.#services.get(request.name);
    if (service?.accepts === true) return service.take(request);
    const unread = this.#unread.get(request.name);
    if (unread === undefined) this.#unread.set(request.name, [request]);
    else unread.push(request);
    this.#unreadCount++;
  }

  /** Removes and returns the oldest unread request of these names. */
  takeUnread(names: readonly string[]): ReceivedRequest | null {
    if (this.#unreadCount === 0) return null;
    let oldest: ReceivedRequest | null = null;
    for (const name of names) {
      const first = this.#unread.get(name)?.[0];
      if (first !== undefined && (oldest === null || first.sequence < oldest.sequence)) {
        oldest = first;
      }
    }
    if (oldest === null) return null;
    const unread = this.#unread.get(oldest.name);
    unread?.shift();
    if (unread?.length === 0) this.#unread.delete(oldest.name);
    this.#unreadCount--;
    return oldest;
  }

  isOpen({ sequence }: ReceivedRequest): boolean {
    return this.#open.has(sequence);
  }
  answered({ sequence }: ReceivedRequest): void {
    this.#open.delete(sequence);
  }

  /** The requests without an answer, in order of arrival. */
  openRequests(): readonly ReceivedRequest[] {
    return [...this.#open.values()];
  }
  /**
   * The open requests as messages for the next execution (request-box.1). `copiedUntil`: requests up to this
   * event belong to the source of a fork (request-call.1).
   */
  unanswered(copiedUntil: number): readonly KeptMessage[] {
    const own = this.openRequests().filter(({ sequence }) => sequence > copiedUntil);
    return own.map((request) => {
      const { name, id, input, sent = input, from, chain } = request;
      const message: RequestMessage = {
        input: sent,
        ...(from === undefined ? {} : { from }),
        ...(chain === undefined ? {} : { chain }),
      };
      const data = JSON.stringify(message);
      return { name: requestMessageName(name), data, key: requestMessageKey(id) };
    });
  }
}

/** Applies a recorded change of a service's names (request-box.2). */
export function changeService(
  run: Run,
  { served, names }: RequestsChanged,
  sequence: number,
): void {
  const task = run.openTasks.get(served);
  if (task?.kind !== "requests") return;
  run.requests.close(task.service);
  task.service.names = names;
  task.service.changedAt = sequence;
  run.requests.open(task.service);
}

/** Records the names of services whose code has changed. Call it at the end of a replay (request-box.2). */
export function renewServices(run: Run): void {
  for (const task of run.openTasks.values()) {
    if (task.kind !== "requests") continue;
    const { sequence: served, service } = task;
    const { names: recorded, wanted } = service;
    if (wanted.length === recorded.length && wanted.every((name) => recorded.includes(name))) {
      continue;
    }
    const isFree = (name: string): boolean =>
      [undefined, service].includes(run.requests.serviceOf(name));
    const change = { kind: "RequestsChanged", served, names: wanted.filter(isFree) } as const;
    run.mark(change);
    changeService(run, change, run.lastSequence);
  }
}
